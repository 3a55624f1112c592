//go:build unix

package main

import (
	"fmt"
	"time"

	"proactivedp/rng"
)

// killsUntilDone is how often, on average, a work is killed before it may finish and is compared.
const killsUntilDone = 6

// undisturbed is what a work makes, and how long it takes, if nothing disturbs it.
type undisturbed struct {
	work
	want map[string]string
	took time.Duration
}

// letAlone runs all works without disturbance.
func (a *attacker) letAlone() ([]undisturbed, error) {
	var all []undisturbed
	for _, w := range works {
		begun := time.Now()
		want, _, err := a.once(w)
		if err != nil {
			return nil, err
		}
		all = append(all, undisturbed{w, want, time.Since(begun)})
	}
	return all, nil
}

// disturbed is a running work in its own folder.
type disturbed struct {
	work
	dir  string
	want map[string]string
	took time.Duration // without disturbance
}

// startWorks makes a folder for each work.
func (a *attacker) startWorks() ([]*disturbed, error) {
	var all []*disturbed
	for i, w := range a.undisturbed {
		dir, err := a.fresh(fmt.Sprint("work-", i))
		if err != nil {
			return nil, err
		}
		all = append(all, &disturbed{work: w.work, want: w.want, took: w.took, dir: dir})
	}
	return all, nil
}

// renew gives the work an empty folder.
func (d *disturbed) renew(a *attacker) (err error) {
	d.dir, err = a.fresh(d.dir[len(a.dir)+1:])
	return err
}

// startKills kills works at any time. A work that continues after that must make the same files as
// without disturbance, and leave nothing of the killed processes.
func startKills(a *attacker) (func(*rng.Stream) error, error) {
	all, err := a.startWorks()
	if err != nil {
		return nil, err
	}
	return func(r *rng.Stream) error {
		d := pickWork(r, all)
		kill := time.Millisecond + time.Duration(r.Float64()*1.1*float64(d.took))
		if r.IntN(killsUntilDone) == 0 {
			kill = 0
		}
		e, err := a.run(d.dir, mayWork, kill, d.args(d.dir)...)
		if err == nil {
			switch {
			case e.killed:
				return d.whole(d.dir, d.want)
			case e.status == 0:
				err = d.same(d.dir, e, d.want)
			default:
				err = e.fault("%s fails after it was killed", d.name)
			}
		}
		if again := d.renew(a); err == nil {
			err = again
		}
		return err
	}, nil
}
