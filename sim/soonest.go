package sim

import (
	"container/heap"
	"sync"
)

// soonestQueue hands work to workers, the earliest deadline first. Use newSoonestQueue to make one.
// It is safe for concurrent use.
type soonestQueue[T any] struct {
	lock    sync.Mutex
	changed sync.Cond // work was added, or the queue was closed
	waiting soonestEntries[T]
	puts    uint64 // number of calls of put
	closed  bool
}

func newSoonestQueue[T any]() *soonestQueue[T] {
	q := new(soonestQueue[T])
	q.changed.L = &q.lock
	return q
}

// put adds x with deadline at. If several deadlines are equal, take returns the one that was added
// first. A closed queue drops x.
func (q *soonestQueue[T]) put(x T, at int64) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.closed {
		return
	}
	heap.Push(&q.waiting, soonestEntry[T]{at, q.puts, x})
	q.puts++
	q.changed.Signal()
}

// take removes the work with the earliest deadline. It waits if the queue is empty. It returns false
// if the queue is closed.
func (q *soonestQueue[T]) take() (x T, ok bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for !q.closed && len(q.waiting) == 0 {
		q.changed.Wait()
	}
	if q.closed {
		return x, false
	}
	return heap.Pop(&q.waiting).(soonestEntry[T]).x, true
}

// close drops the waiting work and ends all calls of take.
func (q *soonestQueue[T]) close() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.closed, q.waiting = true, nil
	q.changed.Broadcast()
}

// soonestEntry is one piece of work with its deadline and its number in the order of put.
type soonestEntry[T any] struct {
	at     int64
	number uint64
	x      T
}

// soonestEntries is a heap for container/heap.
type soonestEntries[T any] []soonestEntry[T]

func (e soonestEntries[T]) Len() int { return len(e) }

func (e soonestEntries[T]) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].number < e[j].number
}

func (e soonestEntries[T]) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *soonestEntries[T]) Push(x any) { *e = append(*e, x.(soonestEntry[T])) }

func (e *soonestEntries[T]) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = soonestEntry[T]{} // so that memory is not held
	*e = (*e)[:last]
	return x
}
