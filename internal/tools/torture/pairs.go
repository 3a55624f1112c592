//go:build unix

package main

import (
	"strings"
	"sync"
	"time"

	"proactivedp/rng"
)

// startPairs starts a work twice in one folder at about the same time. One of them may be refused
// with a clear error. Otherwise neither may fail, at least one must succeed, and the files must be
// those of a single run.
func startPairs(a *attacker) (func(*rng.Stream) error, error) {
	all, err := a.startWorks()
	if err != nil {
		return nil, err
	}
	return func(r *rng.Stream) error {
		d := pickWork(r, all)
		pause := time.Duration(r.Float64() * float64(d.took))
		args := d.args(d.dir)
		var ends [2]*ended
		var errs [2]error
		var wg sync.WaitGroup
		for i := range ends {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * pause)
				ends[i], errs[i] = a.run(d.dir, mayWork, 0, args...)
			})
		}
		wg.Wait()
		err := pairFault(d, ends, errs)
		if again := d.renew(a); err == nil {
			err = again
		}
		return err
	}, nil
}

// refusals are the errors that the second process may print.
var refusals = []string{"in use by another process", "has an unfinished run"}

func pairFault(d *disturbed, ends [2]*ended, errs [2]error) error {
	var last *ended
	for i, e := range ends {
		if errs[i] != nil {
			return errs[i]
		}
		refused := false
		for _, text := range refusals {
			refused = refused || e.status == 1 && strings.Contains(e.stderr.String(), text)
		}
		switch {
		case e.status == 0:
			last = e
		case !refused:
			return e.fault("%s fails beside another", d.name)
		}
	}
	if last == nil {
		return ends[0].fault("%s: both of two were refused", d.name)
	}
	return d.same(d.dir, last, d.want)
}
