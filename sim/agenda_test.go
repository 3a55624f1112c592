package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// An agenda returns its events in the order (time, client, sequence), however messages and ends of rounds
// arrive, and at whatever moment its content is inspected.
func TestAgendaIsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 100 {
		var a agenda
		var left []event
		now := Time(0)
		for seq := range uint64(300) {
			for range r.IntN(3) {
				e := event{at: now + Time(r.IntN(40)), seq: seq, client: uint32(r.IntN(4)), kind: roundEnds}
				if r.IntN(2) == 0 { // a message, mostly of one latency
					e.kind, e.number = updateArrives, int32(seq)
					if r.IntN(8) > 0 {
						e.at = now + 20
					}
				}
				if slices.ContainsFunc(left, func(o event) bool { return !o.before(&e) && !e.before(&o) }) {
					continue // two of one place have no order
				}
				a.enter(&e)
				left = append(left, e)
			}
			if r.IntN(20) == 0 {
				checkAll(t, *a.all(), left)
			}
			next := a.next()
			if (next == nil) != (len(left) == 0) {
				t.Fatalf("trial %d: next is %v of %d events", trial, next, len(left))
			}
			if next == nil {
				continue
			}
			i := earliest(left)
			want := left[i]
			left = slices.Delete(left, i, i+1)
			if *next != want {
				t.Fatalf("trial %d: %+v is next, want %+v", trial, *next, want)
			}
			var got event
			if a.take(next, &got); got != want {
				t.Fatalf("trial %d: took %+v, want %+v", trial, got, want)
			}
			now = want.at
		}
	}
}

// earliest is the place of the first event in their order.
func earliest(all []event) int {
	first := 0
	for i := range all {
		if all[i].before(&all[first]) {
			first = i
		}
	}
	return first
}

// checkAll fails unless q has the events, in their order.
func checkAll(t *testing.T, q queue, events []event) {
	t.Helper()
	if len(q) != len(events) {
		t.Fatalf("%d events in all, want %d", len(q), len(events))
	}
	for i, e := range q {
		if !slices.Contains(events, e) || i > 0 && !q[i-1].before(&e) {
			t.Fatalf("event %d is in the wrong place, or none of the agenda's", i)
		}
	}
}
