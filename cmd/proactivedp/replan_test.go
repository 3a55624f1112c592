//go:build unix && !race

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"proactivedp/dp"
	"proactivedp/plan"
)

// Processes that add a leg to one record at the same time add legs of different runs, each
// of them once; who comes while another is at work is refused by name.
func TestLegsOfOneRecordAreDifferentRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	const processes = 12
	printed(t, "plan --n 10000 --epochs 1 --epsilon 0.05 --root seed:1 --record legs.json --budget 9 --tight=false")
	args := strings.Fields("plan --after legs.json --epochs 0.1 --sigma 20 --record legs.json --json")
	var added [processes]bool
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.Command("proactivedp", args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := cmd.Run()
			if added[i] = err == nil; err != nil && !strings.Contains(stderr.String(), "in use by another process") {
				t.Errorf("%v: %s", err, &stderr)
			}
		})
	}
	wg.Wait()
	legs := 1
	for _, ok := range added {
		if ok {
			legs++
		}
	}
	record, err := os.Open("legs.json")
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	h, err := plan.ReadHistory(record, dp.Poisson, dp.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	if names, _ := dp.Names(h.Events); len(names) != legs || legs < 2 {
		t.Errorf("%d runs in the record, want %d", len(names), legs)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
