package sim

import "sync/atomic"

// sharedThings are a few things for many goroutines, each for one at a time. They lie in places
// that are emptied and filled without a lock: a lock that all fight for, such as a channel's, takes
// a tenth of a small model's round. Only a goroutine that finds nothing waits, at a channel. Make
// them with newShared. They are safe for concurrent use.
type sharedThings[T any] struct {
	places  []atomic.Pointer[T]
	waiting atomic.Int32
	handed  chan *T // carries things to who waits; has room for all
}

// newShared returns n things that the function makes.
func newShared[T any](n int, another func() *T) *sharedThings[T] {
	t := &sharedThings[T]{places: make([]atomic.Pointer[T], n), handed: make(chan *T, n)}
	for i := range t.places {
		t.places[i].Store(another())
	}
	return t
}

// take returns a thing, which is the caller's until give. If there is none it waits by
// receive, which is to take from the channel, or returns an error if it gives up.
func (t *sharedThings[T]) take(receive func(<-chan *T) (*T, error)) (*T, error) {
	if x := t.find(); x != nil {
		return x, nil
	}
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	// Who gives a thing back from now on sees that somebody waits; who did so before has
	// left it in its place.
	if x := t.find(); x != nil {
		return x, nil
	}
	return receive(t.handed)
}

// give returns a thing. There is a place for each, but it may move while it is looked for.
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

// find takes a thing that nobody uses; nil if there is none.
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
