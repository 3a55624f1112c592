package sim

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A sharedThings hands each thing to one goroutine at a time, and loses none. A waiting goroutine gets
// one, or the error with which it gives up.
func TestThingsAreHandedOn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	const goroutines, turns, many = 40, 300, 3
	type thing struct{ last int }
	things := newShared(many, func() *thing { return new(thing) })
	wait := func(ctx context.Context) func(<-chan *thing) (*thing, error) {
		return func(c <-chan *thing) (*thing, error) {
			select {
			case x := <-c:
				return x, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	var using atomic.Int32
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for turn := range turns {
				x, err := things.take(wait(t.Context()))
				if err != nil {
					t.Error(err)
					return
				}
				if n := using.Add(1); n > many {
					t.Errorf("%d in use", n)
				}
				x.last = turn // for the race detector
				if (g+turn)%50 == 0 {
					time.Sleep(time.Microsecond)
				}
				using.Add(-1)
				things.give(x)
			}
		})
	}
	all.Wait()
	seen := map[*thing]bool{}
	for range many {
		x, err := things.take(wait(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		seen[x] = true
	}
	if len(seen) != many || things.waiting.Load() != 0 {
		t.Errorf("%d things left of %d, %d waiting", len(seen), many, things.waiting.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := things.take(wait(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v where nothing is left, want %v", err, context.Canceled)
	}
}
