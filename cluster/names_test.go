package cluster

import (
	"math"
	"testing"
)

// The subject of a message names the client, the round and the part of an update. Different parts have
// different subjects.
func TestOneSubjectForEachPartOfAnUpdate(t *testing.T) {
	n := names{"0123456789abcdef"}
	for _, want := range [][3]int{{0, 0, 0}, {2, 10, 0}, {MaxClients - 1, math.MaxInt32, 177}} {
		for kind, other := range map[string]string{upKind: earlyKind, earlyKind: upKind} {
			subject := n.part(kind, want[0], want[1], want[2])
			client, round, chunk, ok := n.parsePart(kind, subject)
			got, same := [3]int{client, round, chunk}, n.subject(kind, client, round, chunk)
			if !ok || got != want || subject != same {
				t.Errorf("%s is of %v, %v, must be of %v", subject, got, ok, want)
			}
			if _, _, _, ok := n.parsePart(other, subject); ok {
				t.Errorf("%s is taken for one of the kind %s", subject, other)
			}
		}
	}
	up := n.subject("up")
	for _, subject := range []string{
		"", up, up + ".", up + ".1.2", up + ".1.2.", up + ".1.2.3.", up + ".1.2.3.4", up + ".1..3", up + "..2.3",
		up + ".01.2.3", up + ".1.+2.3", up + ".1.-0.3", up + ".1.-2.3", up + ".1.2.00", up + ".1.2.0x3",
		up + ".1.2147483648.3", "x" + up + ".1.2.3", names{"other"}.up(1, 2, 3), up + "1.2.3",
	} {
		if client, round, chunk, ok := n.parsePart(upKind, subject); ok {
			t.Errorf("%q is taken for chunk %d of round %d of client %d", subject, chunk, round, client)
		}
	}
}
