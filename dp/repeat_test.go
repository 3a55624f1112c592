package dp

import (
	"math"
	"testing"
)

// If an int cannot count one more round, the round becomes a new event, and the count does not wrap
// around.
func TestLedgerRepeatsNotBeyondAnInt(t *testing.T) {
	var l Ledger
	l.Record(Event{SampleSize: 1, DatasetSize: 10, NoiseMultiplier: 1, Count: math.MaxInt})
	if l.Repeat(1) || l.Events()[0].Count != math.MaxInt {
		t.Errorf("%+v", l.Events())
	}
	l = Ledger{} // two draws of shuffled batches are not one longer draw
	l.Record(Event{Sampling: Shuffle, SampleSize: 1, DatasetSize: 10, NoiseMultiplier: 1, Count: 1})
	if l.Repeat(1) || l.Events()[0].Count != 1 {
		t.Errorf("%+v", l.Events())
	}
}
