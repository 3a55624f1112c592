package privacy

import (
	"io"
	"strings"
	"testing"

	"proactivedp/internal/testkit"
	"proactivedp/plan"
)

func TestDrawFrontier(t *testing.T) {
	at := func(sigma float64) *float64 { return &sigma }
	frontier := &plan.Frontier{N: 10000, Epochs: 5, Theta: 1, Epsilon: 0.05, Delta: 1e-4, Accountant: "pld",
		Rows: []plan.Row{
			{SampleSize: 1, Rounds: 50000},
			{SampleSize: 10, Rounds: 5000, ClosedForm: at(19), AddOrRemove: at(3), ReplaceOne: at(6)},
			{SampleSize: 100, Rounds: 500, ClosedForm: at(30), AddOrRemove: at(8)},
			{SampleSize: 1000, Rounds: 50, AddOrRemove: at(25), ReplaceOne: at(120)},
		}}
	testkit.Golden(t, "frontier", func(w io.Writer) error { return Frontier(w, frontier) })
	frontier.Rows = frontier.Rows[:1]
	if err := Frontier(io.Discard, frontier); err == nil || !strings.Contains(err.Error(), "N = 10000") {
		t.Errorf("a frontier without any σ: %v, want an error that says so", err)
	}
}
