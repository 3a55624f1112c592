//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"proactivedp/internal/testkit"
	"proactivedp/rng"
)

// readers are commands that read somebody else's file, FILE.
var readers = []string{
	"account --events FILE --delta 1e-5", "plan --after FILE", "tradeoff --events FILE --delta 1e-5",
	"train --data FILE --grad-computations 100", "train --data FILE --dry-run",
	"train --data FILE --label-map 0,1 --grad-computations 100 --sample-size 2",
	"train --data FILE --test FILE --label-map 0,1 --grad-computations 100 --sample-size 2",
	"delay --data FILE --grad-computations 100 --seeds 1 --delays 0",
	"train --data synth-phishing --grad-computations 100 --compute-time trace:FILE",
	"train --data synth-phishing --grad-computations 100 --latency trace:FILE",
	"account --events FILE --events FILE --delta 1e-5", "account --events FILE --events FILE --independent --delta " +
		"1e-5",
	"plan --after FILE --epochs 1 --sigma 20 --record out.json",
	"plan --n 10000 --epochs 5 --epsilon 0.05 --tight=false --record FILE",
	"train --data FILE --features 7 --split shuffled --run 2 --grad-computations 100 --memory 64MiB",
	"train --data synth-phishing --grad-computations 100 --checkpoint run.checkpoint --checkpoint-key FILE",
	"train --resume FILE", "train --data synth-phishing --grad-computations 100 --checkpoint FILE",
	"search --data FILE --models logreg --eta0 0.1 --beta 0 --sigma 1 --grad-computations 100 --holdout 0.5",
}

// good are valid files, from which hostile ones are made.
var good = []string{
	`[{"sigma":8,"sample_rate":0.01,"steps":500},{"noise_multiplier":2,"sample_size":3,"dataset_size":100,"count":5}]`,
	`{"events": [{"sampling":"fixed","adjacency":"replace-one","noise_multiplier":8,"sample_size":3,` +
		`"dataset_size":10,"count":5}]}`,
	"sigma,sample_rate,steps\n2,0.01,100\n3,0.01,100\n",
	"client,duration\n0,1ms\n1,2ms\n2,1us\n3,1ms\n4,1ms\n",
	strings.Repeat("1 1:1 3:0.5\n0 2:1 7:-2\n", 20),
	"proactivedp checkpoint\n",
	legs,
	`{"notes": ["a note"], "privacy": {"sum": "moves by C"}, "data_note": "a set", "releases": [{"noise": {"root": ` +
		`"secret:00ff", "run": 18446744073709551615}, "events": [{"sigma": 8, "sample_rate": 0.01, "steps": 5}]}]}`,
}

// scraps are texts that are inserted into files.
var scraps = []string{
	"[", "]", "{", "}", "[x]", "NaN", ".5", "01", "'", "\"", "//", ":", ",", "-", "1e999", "-1",
	"999999999999999999999",
	"\x00", "\xff\xfe", "\ufeff", "\n", "\r", "ε",
	"500000000:1", "2147483647:1", "2147483648:1", "0:1", "1:nan", `{"sigma":1,"sigma":2}`, "null", "true", "1e-320",
	"9223372036854775807", "client", "1h", "-1ms",
}

// startHostile gives the program hostile files: malformed, endless, enormous, nested, cut, or not
// files at all.
func startHostile(a *attacker) (func(*rng.Stream) error, error) {
	return func(r *rng.Stream) error {
		dir, err := a.fresh("hostile")
		if err != nil {
			return err
		}
		path, err := hostile(r, dir)
		if err != nil {
			return err
		}
		args := strings.Fields(strings.ReplaceAll(pick(r, readers), "FILE", path))
		if strings.Contains(path, "/dev/full") && strings.Contains(strings.Join(args, " "), "--checkpoint") {
			args = []string{"train", "--resume", path}
		}
		may := mayTake
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
			may = mayWait
		}
		_, err = a.run(dir, may, 0, args...)
		return err
	}, nil
}

// hostile creates a hostile file in dir, or returns the name of something that is not a regular
// file.
func hostile(r *rng.Stream, dir string) (string, error) {
	path := filepath.Join(dir, "file")
	text := []byte(pick(r, good))
	if r.IntN(4) == 0 {
		var err error
		if text, err = arrays(r); err != nil {
			return "", err
		}
		path += ".npz"
	}
	switch r.IntN(24) {
	case 0:
		return pick(r, []string{"/dev/zero", "/dev/urandom", "/dev/full"}), nil
	case 1:
		return pick(
			r,
			[]string{"/dev/null", dir, "/", "/proc/self/mem", "/proc/self/maps", filepath.Join(dir, "none")},
		), nil
	case 2:
		return path, syscall.Mkfifo(path, 0o666)
	case 3:
		text = bytes.Repeat([]byte(pick(r, scraps)), 1+r.IntN(200_000))
	case 4:
		text = bytes.Repeat(text, 1+r.IntN(2000))
	case 5:
		text = []byte(strings.Repeat(pick(r, []string{"[", `{"events":`, `[{"a":[`}), 1+r.IntN(100_000)))
	case 6:
		text = make([]byte, r.IntN(5000))
		for i := range text {
			text[i] = byte(r.Uint64())
		}
	case 7: // a small archive that unpacks to a large file
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(bytes.Repeat(text, 1+r.IntN(20_000))); err != nil {
			return "", err
		}
		if err := z.Close(); err != nil {
			return "", err
		}
		text = packed.Bytes()[:packed.Len()-r.IntN(2)*r.IntN(packed.Len())]
	case 8:
		text = fmt.Appendf(nil, "1 %d:1\n0 1:1\n1 1:1\n0 1:1\n1 1:1\n0 1:1\n1 1:1\n", 1+r.IntN(1<<33))
	default:
		for range 1 + r.IntN(4) {
			i := r.IntN(len(text) + 1)
			switch r.IntN(4) {
			case 0:
				text = append(text[:i:i], append([]byte(pick(r, scraps)), text[i:]...)...)
			case 1:
				text = text[:i]
			case 2:
				text = append(text[:i:i], text[min(i+1+r.IntN(8), len(text)):]...)
			default:
				if i < len(text) {
					text[i] ^= 1 << r.IntN(8)
				}
			}
		}
	}
	return path, os.WriteFile(path, text, 0o666)
}

// arrays returns a valid NumPy file.
func arrays(r *rng.Stream) ([]byte, error) {
	x := testkit.Of("<f4", []int{20, 3}, make([]float32, 60)...)
	y := testkit.Of("<i8", []int{20}, make([]int64, 20)...)
	for i := range x.Shape[0] {
		x.Content[12*i+2], y.Content[8*i] = byte(r.IntN(256)), byte(i%2) // change a byte in the middle of the fraction
	}
	return testkit.Archive(r.IntN(2) == 0, testkit.Member{Name: "x", Content: x.Bytes()},
		testkit.Member{Name: "y", Content: y.Bytes()})
}
