package sim

import (
	"errors"
	"time"

	"proactivedp/sim/clock"
)

// Time is a point on the virtual clock, in nanoseconds from the start.
type Time int64

// eventKind says what happens at an event.
type eventKind uint8

const (
	roundEnds eventKind = iota
	updateArrives
	broadcastArrives
	// broadcastArrivesAtAll is broadcastArrives at the event's client and, at
	// the same time, at all clients after it.
	broadcastArrivesAtAll
	updateResent // a lost message is sent again; the event holds it, as when it arrives
	broadcastResent
	clientLeaves
	clientReturns
	eventKinds // how many kinds there are
)

// update reports whether such an event is of an update on its way.
func (k eventKind) update() bool { return k == updateArrives || k == updateResent }

// broadcast reports whether such an event is of a broadcast on its way.
func (k eventKind) broadcast() bool {
	return k == broadcastArrives || k == broadcastArrivesAtAll || k == broadcastResent
}

// event is one thing that happens on the virtual clock.
type event struct {
	at     Time
	seq    uint64 // number in the order of creation
	client uint32
	kind   eventKind
	number int32   // the round of an update, the k of a broadcast
	vector *Vector // the vector that the message carries; nil where there is none
}

// before reports whether e comes first, in the order (time, client, sequence).
func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if e.client != o.client {
		return e.client < o.client
	}
	return e.seq < o.seq
}

// queue is a binary heap of events, the first on top.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
	*q = h
}

// pop removes and returns the first event. The queue must not be empty.
func (q *queue) pop() event {
	h := *q
	top := h[0]
	n := len(h) - 1
	last := h[n]
	h[n] = event{}
	h = h[:n]
	*q = h
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if r := child + 1; r < n && h[r].before(&h[child]) {
			child = r
		}
		if !h[child].before(&last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return top
}

// remove takes out an event that matches, if there is one, in O(n) time.
func (q *queue) remove(match func(*event) bool) {
	h := *q
	for i := range h {
		if !match(&h[i]) {
			continue
		}
		for i > 0 { // The event goes to the top, and is taken from there.
			parent := (i - 1) / 2
			h[i] = h[parent]
			i = parent
		}
		q.pop()
		return
	}
}

// ErrClock reports that something would happen beyond the end of the virtual
// clock, some 292 years: a draw from a heavy tail.
var ErrClock = errors.New("sim: the virtual clock cannot hold a time so late")

// enter puts an event into the queue that happens after the given time.
func (v *Virtual) enter(after time.Duration, e event) {
	if after > clock.Beyond-1-time.Duration(v.now) {
		v.failed = ErrClock
		return
	}
	e.at = v.now + Time(after)
	e.seq = v.seq
	v.seq++
	v.queue.push(e)
}
