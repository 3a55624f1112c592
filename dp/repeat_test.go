package dp

import (
	"math"
	"testing"
)

// A round more than an int counts is a new event: the count of the last one does not wrap.
func TestLedgerRepeatsNotBeyondAnInt(t *testing.T) {
	var l Ledger
	l.Record(Event{SampleSize: 1, DatasetSize: 10, NoiseMultiplier: 1, Count: math.MaxInt})
	if l.Repeat(1) || l.Events()[0].Count != math.MaxInt {
		t.Errorf("%+v", l.Events())
	}
}
