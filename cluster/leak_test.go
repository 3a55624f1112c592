package cluster

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// After a training, no goroutine of the server, its clients or the broker is left.
func TestNoGoroutineIsLeft(t *testing.T) {
	r := newTestRun(t, smallSpec(6), drawn())
	r.run(t.Context())
	var left string
	for end := time.Now().Add(enough); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left = ""
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			ours := strings.Contains(stack, "/cluster.") || strings.Contains(stack, "/cluster/")
			// Package pse of nats-server and the testing package have some for ever.
			if (ours || strings.Contains(stack, "nats-io")) && !strings.Contains(stack, "testing.tRunner") {
				left += stack + "\n\n"
			}
		}
		if left == "" {
			return
		}
	}
	t.Errorf("left:\n%s", left)
}
