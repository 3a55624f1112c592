// Package soonest hands what is to be done to those who do it, what is wanted soonest
// first.
package soonest

import (
	"container/heap"
	"sync"
)

// Queue holds what waits. Make it with New. It is safe for concurrent use.
type Queue[T any] struct {
	lock    sync.Mutex
	changed sync.Cond // there is more, or no more will come
	waiting entries[T]
	put     uint64 // how many were put in
	closed  bool
}

// New returns an empty queue.
func New[T any]() *Queue[T] {
	q := new(Queue[T])
	q.changed.L = &q.lock
	return q
}

// Put adds what is wanted at a time; of what is wanted at the same, what came first goes
// first. What is put into a closed queue is dropped.
func (q *Queue[T]) Put(x T, at int64) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.closed {
		return
	}
	heap.Push(&q.waiting, entry[T]{at, q.put, x})
	q.put++
	q.changed.Signal()
}

// Take removes what is wanted soonest, and waits for it if there is nothing. It reports
// false if the queue is closed.
func (q *Queue[T]) Take() (x T, ok bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	for !q.closed && len(q.waiting) == 0 {
		q.changed.Wait()
	}
	if q.closed {
		return x, false
	}
	return heap.Pop(&q.waiting).(entry[T]).x, true
}

// Close drops what waits, and lets all who take go.
func (q *Queue[T]) Close() {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.closed, q.waiting = true, nil
	q.changed.Broadcast()
}

// entry is one thing that waits: when it is wanted, and its number in the order of Put.
type entry[T any] struct {
	at     int64
	number uint64
	x      T
}

// entries is a heap for container/heap.
type entries[T any] []entry[T]

func (e entries[T]) Len() int { return len(e) }

func (e entries[T]) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].number < e[j].number
}

func (e entries[T]) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *entries[T]) Push(x any) { *e = append(*e, x.(entry[T])) }

func (e *entries[T]) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last] = entry[T]{} // so that memory is not held
	*e = (*e)[:last]
	return x
}
