package sim

import (
	"math"
	"strings"
	"testing"

	"proactivedp/dp"
)

// A ledger whose counts overflow is refused. Here the sum wraps around to the right number of rounds.
func TestResumeRefusesAnOverflowingLedger(t *testing.T) {
	c, err := NewClient(brief(t), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ledger dp.Ledger
	e := c.mech.EventOf(c.mech.Sizes.At(0))
	for _, count := range []int{math.MaxInt, math.MaxInt, 2} { // 0 as an int
		e.Count = count
		ledger.Record(e)
	}
	if err := c.Resume(&ledger, 0, &Vector{}); err == nil || !strings.Contains(err.Error(), "rounds in the ledger") {
		t.Error(err)
	}
}
