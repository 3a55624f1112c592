package sim

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"proactivedp/sim/clock"
)

// Time is a point in the simulated time of a run on the virtual clock, in nanoseconds from the start.
type Time int64

type eventKind uint8

const (
	roundEnds eventKind = iota
	updateArrives
	broadcastArrives
	// broadcastArrivesAtAll is like broadcastArrives, for the event's client and, at the same time,
	// for all clients after it.
	broadcastArrivesAtAll
	updateResent // a lost message is sent again; the event carries it, as an arrival does
	broadcastResent
	clientLeaves
	clientReturns
	eventKinds // how many kinds there are
)

func (k eventKind) update() bool { return k == updateArrives || k == updateResent }

func (k eventKind) broadcast() bool {
	return k == broadcastArrives || k == broadcastArrivesAtAll || k == broadcastResent
}

// event is one thing that happens on the virtual clock.
type event struct {
	at     Time
	seq    uint64 // events are numbered in the order of creation
	client uint32
	kind   eventKind
	number int32   // the round of an update, the k of a broadcast
	vector *Vector // the vector that the message carries; nil if there is no message
}

// set copies o to e field by field. A plain copy of the struct would be slower here: it uses loads
// that are wider than the stores that have just written o, so it must wait until those stores have
// left the processor's store buffer.
func (e *event) set(o *event) {
	e.at, e.seq, e.client, e.kind, e.number, e.vector = o.at, o.seq, o.client, o.kind, o.number, o.vector
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

// queue is a binary heap of events. The first event is on top.
type queue []event

func (q *queue) push(e *event) {
	h := append(*q, event{})
	i := len(h) - 1
	for ; i > 0 && e.before(&h[(i-1)/2]); i = (i - 1) / 2 {
		h[i] = h[(i-1)/2]
	}
	h[i].set(e)
	*q = h
}

// pop removes the first event and copies it to to. The queue must not be empty.
func (q *queue) pop(to *event) {
	h := *q
	*to = h[0]
	n := len(h) - 1
	last := h[n]
	h[n] = event{}
	h = h[:n]
	*q = h
	if n == 0 {
		return
	}
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if r := child + 1; r < n {
			// No processor can predict which child is earlier. So this takes the sign of the
			// difference instead of a branch, unless both are at the same time.
			if d := h[r].at - h[child].at; d != 0 {
				child += int(uint64(d) >> 63)
			} else if h[r].before(&h[child]) {
				child = r
			}
		}
		if !h[child].before(&last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
}

// agenda holds the future events: a heap, and a line of messages in their order of arrival. Most
// messages have the same latency, so they can be appended to the line, which is faster than the
// heap.
type agenda struct {
	queue queue
	line  []event
	first int // index of the first message in the line that has not happened
}

// next returns the first event, or nil. It is valid until the agenda changes.
func (a *agenda) next() *event {
	switch waiting := a.first < len(a.line); {
	case waiting && (len(a.queue) == 0 || a.line[a.first].before(&a.queue[0])):
		return &a.line[a.first]
	case len(a.queue) > 0:
		return &a.queue[0]
	}
	return nil
}

func (a *agenda) enter(e *event) {
	n := len(a.line)
	if e.kind == roundEnds || n > 0 && e.before(&a.line[n-1]) {
		a.queue.push(e)
		return
	}
	if a.first == n {
		a.line, a.first = a.line[:0], 0
	} else if a.first > len(a.line)/2 && n == cap(a.line) {
		a.line, a.first = a.line[:copy(a.line, a.line[a.first:])], 0
	}
	a.line = append(a.line, event{})
	a.line[len(a.line)-1].set(e)
}

func (a *agenda) take(next, to *event) {
	if len(a.queue) > 0 && next == &a.queue[0] {
		a.queue.pop(to)
		return
	}
	a.first++
	*to = *next
}

// all moves all events into the heap, in order, and returns it. The caller may change it. So agendas
// with the same events are written to a checkpoint as the same bytes.
func (a *agenda) all() *queue {
	a.queue = append(a.queue, a.line[a.first:]...)
	slices.SortFunc(a.queue, func(e, o event) int {
		return cmp.Or(cmp.Compare(e.at, o.at), cmp.Compare(e.client, o.client), cmp.Compare(e.seq, o.seq))
	})
	a.line, a.first = a.line[:0], 0
	return &a.queue
}

// remove removes the first event that matches, if any, in O(n log n) time.
func (a *agenda) remove(match func(event) bool) {
	if i := slices.IndexFunc(*a.all(), match); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
	}
}

// ErrClock is wrapped by the error of a run in which an event would happen after the end of the virtual clock, at
// about 292 years. Heavy-tailed distributions of durations can draw such a long time.
var ErrClock = errors.New("the virtual clock cannot hold a time so late")

func (v *Virtual) enter(after time.Duration, e *event) {
	if after > clock.Beyond-1-time.Duration(v.now) {
		v.failed = ErrClock
		return
	}
	e.at = v.now + Time(after)
	e.seq = v.seq
	v.seq++
	v.agenda.enter(e)
}
