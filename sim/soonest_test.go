package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

type job struct {
	at     int64
	number int
}

// The queue returns items by time, and by number for equal times, however Put and Take alternate.
func TestSoonestFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		q := newSoonestQueue[job]()
		var waiting []job
		for number := range 60 {
			j := job{r.Int64N(20) - 10, number}
			q.put(j, j.at)
			waiting = append(waiting, j)
			for len(waiting) > 0 && r.IntN(3) == 0 {
				slices.SortFunc(waiting, func(a, b job) int {
					return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number))
				})
				if got, ok := q.take(); !ok || got != waiting[0] {
					t.Fatalf("trial %d: took %v, %v, want %v of %v", trial, got, ok, waiting[0], waiting)
				}
				waiting = waiting[1:]
			}
		}
	}
}

// Many goroutines put and take concurrently: each item is taken once, and closing the queue releases all
// waiting and all later takers.
func TestManyAtOnce(t *testing.T) {
	const putters, takers, each = 4, 6, 500
	q := newSoonestQueue[int]()
	var seen [putters * each]int
	var lock sync.Mutex
	var taken, put, took sync.WaitGroup
	taken.Add(putters * each)
	for range takers {
		took.Go(func() {
			for x, ok := q.take(); ok; x, ok = q.take() {
				lock.Lock()
				seen[x]++
				lock.Unlock()
				taken.Done()
			}
		})
	}
	for p := range putters {
		put.Go(func() {
			for i := range each {
				q.put(p*each+i, int64(i))
			}
		})
	}
	put.Wait()
	taken.Wait()
	q.close()
	took.Wait()
	for x, n := range seen {
		if n != 1 {
			t.Errorf("%d was taken %d times", x, n)
		}
	}
}

// A closed queue returns nothing, neither old items nor new ones.
func TestClosed(t *testing.T) {
	q := newSoonestQueue[int]()
	q.put(1, 1)
	q.close()
	q.put(2, 2)
	q.close()
	if x, ok := q.take(); ok {
		t.Errorf("took %d of a closed queue", x)
	}
}
