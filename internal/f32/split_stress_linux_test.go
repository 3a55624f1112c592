package f32

import (
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// Products keep their bits while the collector runs, goroutines are preempted, threads
// come and go, and every thread gets the signals that the runtime preempts and, while it
// takes a profile, measures with: what a thread has in its tiles is saved with it.
func TestTilesOutliveInterruptions(t *testing.T) {
	tiled(t)
	if err := pprof.StartCPUProfile(io.Discard); err == nil { // else the tests are measured already
		defer pprof.StopCPUProfile()
	}
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
	sent := 0
	for turn := 0; turn < 1000 || made.Load() < 1000; turn++ {
		sent += signalThreads(t, []syscall.Signal{syscall.SIGURG, syscall.SIGPROF}[turn%2])
	}
	stop.Store(true)
	all.Wait()
	if wrong.Load() > 0 {
		t.Errorf("%d of %d products are wrong", wrong.Load(), made.Load())
	}
	t.Logf("%d products, %d signals", made.Load(), sent)
}

// signalThreads sends a signal to each thread of the process, and returns to how many.
func signalThreads(t *testing.T, s syscall.Signal) int {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		// A thread that has ended meanwhile gets none.
		_, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(id), uintptr(s))
		if errno != 0 && errno != syscall.ESRCH {
			t.Fatal(errno)
		}
	}
	return len(threads)
}
