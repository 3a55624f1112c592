//go:build unix

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"proactivedp/rng"
)

// startDisks attacks the program's output. Files may not grow beyond a size, as on a full disk.
// Outputs are full devices, or in places that cannot be written. The program's output is read
// slowly. The program must fail with status 1 or 2 and an error, and must continue to the right
// result as soon as there is room.
func startDisks(a *attacker) (func(*rng.Stream) error, error) {
	if runtime.GOOS != "linux" {
		return nil, skipped("needs ulimit -f in blocks, /dev/full and /proc")
	}
	all, err := a.startWorks()
	if err != nil {
		return nil, err
	}
	return func(r *rng.Stream) error {
		if r.IntN(4) == 0 {
			return a.nowhere(r)
		}
		d := pickWork(r, all)
		// The limit is below what the program writes, in blocks of 512 bytes, or of 1024 in some
		// shells.
		blocks := r.IntN(40)
		e, err := a.shell(d.dir, mayWork, 0, fmt.Sprint("ulimit -f ", blocks), d.args(d.dir)...)
		if err == nil {
			switch e.status {
			case 0:
				err = d.same(d.dir, e, d.want)
			case 1, 2:
				if !strings.Contains(e.stderr.String(), "too large") {
					err = e.fault("%s does not say that the disk is full", d.name)
				} else if err = d.whole(d.dir, d.want); err == nil {
					// The next call has room.
					if e, err = a.run(d.dir, mayWork, 0, d.args(d.dir)...); err == nil {
						err = d.same(d.dir, e, d.want)
					}
				}
			default:
				err = e.fault("%s on a full disk", d.name)
			}
		}
		if again := d.renew(a); err == nil {
			err = again
		}
		return err
	}, nil
}

// nowhere selects an output that cannot be written.
func (a *attacker) nowhere(r *rng.Stream) error {
	place := pick(
		r,
		[]string{
			"/dev/full",
			"/proc/none",
			"/proc/self/out",
			"/sys/out",
			"/proc/nowhere/out",
			"file/out",
			"\x00",
			strings.Repeat("x", 300),
		},
	)
	dir, err := a.fresh("nowhere")
	if err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/file", []byte("a file"), 0o666); err != nil {
		return err
	}
	if strings.Contains(place, "\x00") {
		place = "bad\x01/\nname"
	}
	commands := []string{
		"plan --n 10000 --epochs 5 --epsilon 0.5 --frontier --points 2 --accuracy 0.01 --csv OUT",
		"tradeoff --sigma 5 --sample-rate 0.01 --steps 25 --delta 1e-5 --accuracy 0.01 --csv OUT",
		"train --data synth-phishing --grad-computations 500 --checkpoint OUT",
		"train --data synth-phishing --grad-computations 500 --trace OUT",
		"search --data synth-phishing --models logreg --eta0 0.1 --beta 0.01 --sigma 0 --grad-computations 200 " +
			"--holdout 0.1 --out OUT",
		"delay --data synth-phishing --delays 0 --seeds 1 --grad-computations 200 --out OUT",
		"figures phishing-logreg-utility --quick --seeds 1 --allow-stand-in --out OUT",
		"tables --out OUT",
	}
	var args []string
	for word := range strings.FieldsSeq(pick(r, commands)) {
		args = append(args, strings.ReplaceAll(word, "OUT", place))
	}
	e, err := a.run(dir, mayTake, 0, args...)
	if err != nil {
		return err
	}
	if e.status == 0 && !strings.HasPrefix(place, "bad") {
		return e.fault("it says that it wrote a file where nothing can be written")
	}
	return nil
}
