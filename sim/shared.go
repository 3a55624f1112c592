package sim

import "sync/atomic"

// sharedThings gives a few things to many goroutines, each to one goroutine at a time. The things
// are kept in slots that are emptied and filled without a lock, because a contended lock, such as a
// channel's, takes a tenth of a small model's round. Only a goroutine that finds all slots empty
// waits at a channel. Use newShared to make one. It is safe for concurrent use.
type sharedThings[T any] struct {
	places  []atomic.Pointer[T]
	waiting atomic.Int32
	handed  chan *T // things for goroutines that wait; it has room for all
}

// newShared returns a sharedThings with n things. It calls another n times to make them.
func newShared[T any](n int, another func() *T) *sharedThings[T] {
	t := &sharedThings[T]{places: make([]atomic.Pointer[T], n), handed: make(chan *T, n)}
	for i := range t.places {
		t.places[i].Store(another())
	}
	return t
}

// take returns a thing, which the caller owns until give. If all are in use, take calls receive,
// which waits for one from the channel or returns an error.
func (t *sharedThings[T]) take(receive func(<-chan *T) (*T, error)) (*T, error) {
	if x := t.find(); x != nil {
		return x, nil
	}
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	// A goroutine that gives a thing back from now on sees that somebody waits. One that did so
	// before has left its thing in a slot.
	if x := t.find(); x != nil {
		return x, nil
	}
	return receive(t.handed)
}

// give puts x back. There is always an empty slot for it, but other goroutines may change which one
// during the search.
func (t *sharedThings[T]) give(x *T) {
	for i := 0; !t.places[i].CompareAndSwap(nil, x); {
		i = (i + 1) % len(t.places)
	}
	if t.waiting.Load() == 0 {
		return
	}
	if x := t.find(); x != nil {
		t.handed <- x
	}
}

// find takes an unused thing. It returns nil if all slots are empty.
func (t *sharedThings[T]) find() *T {
	for i := range t.places {
		if t.places[i].Load() == nil {
			continue
		}
		if x := t.places[i].Swap(nil); x != nil {
			return x
		}
	}
	select {
	case x := <-t.handed:
		return x
	default:
		return nil
	}
}
