//go:build unix

package f32

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Products keep their bits while the collector runs, goroutines are preempted, threads
// come and go, and signals arrive: what a thread has in its tiles is saved with it.
func TestTilesOutliveInterruptions(t *testing.T) {
	tiled(t)
	r := source(38)
	const steps = 40
	n := steps * ThreeParts * TilePairs
	a, b := randomPairs(r, 2*n), randomPairs(r, 2*n)
	var list []Term
	for s := range steps {
		list = append(list, Term{int32(s * ThreeParts * TilePairs), int32(s * ThreeParts * TilePairs)})
	}
	terms := NewTerms(list)
	product := func(c []float32) []float32 {
		tile := SplitTile{A: a, B: b, C: c, DownA: n, RightB: n, DownC: 512, RightC: 16, RowC: 32, Parts: ThreeParts}
		tile.Mul(terms)
		return c
	}
	want := product(make([]float32, 1024))
	var stop atomic.Bool
	var wrong, made atomic.Int64
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if i%3 == 0 { // the thread ends with the goroutine
				runtime.LockOSThread()
			}
			c := make([]float32, 1024)
			for !stop.Load() {
				clear(c)
				if !slices.Equal(product(c), want) {
					wrong.Add(1)
				}
				made.Add(1)
			}
		})
	}
	all.Go(func() {
		for !stop.Load() {
			runtime.GC()
			_ = make([]byte, 1<<20)
		}
	})
	all.Go(func() {
		self, err := os.FindProcess(os.Getpid())
		for err == nil && !stop.Load() {
			err = self.Signal(syscall.SIGURG) // what the runtime preempts with
			time.Sleep(50 * time.Microsecond)
		}
	})
	time.Sleep(time.Second)
	stop.Store(true)
	all.Wait()
	if wrong.Load() > 0 || made.Load() < 100 {
		t.Errorf("%d of %d products are wrong", wrong.Load(), made.Load())
	}
	t.Logf("%d products", made.Load())
}
