package main

import (
	"bytes"
	"strings"
	"testing"
)

// The code as it is breaks nothing. The table has a row for each τ that makes a
// difference, with the numbers of states and transitions, and their sums.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := table(&out, runs[:short]); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		rows = append(rows, strings.Join(fields[:len(fields)-1], " ")) // without the seconds
	}
	const want = `size τ states transitions
2 × 2 0 1791 6223
2 × 2 1 and more 11322 48327
all 13113 54550`
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

// All runs together have the states and the transitions that README and docs speak
// of; make explore takes them all.
func TestAllRuns(t *testing.T) {
	states, transitions := 0, 0
	for _, r := range runs {
		states += r.states
		transitions += r.transitions
	}
	if states != 1_441_454 || transitions != 7_996_023 {
		t.Errorf("%d states and %d transitions, want 1,441,454 and 7,996,023", states, transitions)
	}
}

// A protocol with other states is not taken for the one that was explored.
func TestOtherCountsAreFound(t *testing.T) {
	other := runs[0]
	other.transitions++
	if err := table(&bytes.Buffer{}, []run{other}); err == nil ||
		!strings.Contains(err.Error(), "1791 states and 6223 transitions, must be 1791 and 6224") {
		t.Errorf("error %v", err)
	}
}
