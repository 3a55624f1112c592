//go:build unix

package trainer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An interrupt ends the script and the processes that it started, and the training counts.
func TestInterruptEndsTheScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	beats := func() (size int64) {
		found, _ := filepath.Glob(filepath.Join(dir, TrialsFolder, "*.beats"))
		for _, path := range found {
			if info, err := os.Stat(path); err == nil {
				size += info.Size()
			}
		}
		return size
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan bool)
	go func() {
		defer close(waited)
		for range 6000 { // until a process that the script started works
			if beats() > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	start := time.Now()
	_, err := trainerWith("parent", Options{Dir: dir}).Private(ctx, privateTask(), "key", testBudget)
	<-waited
	if !errors.Is(err, context.Canceled) || !errors.Is(err, ErrFailed) || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	time.Sleep(100 * time.Millisecond) // for what was under way
	before := beats()
	time.Sleep(200 * time.Millisecond)
	if after := beats(); before == 0 || after != before {
		t.Errorf("a process of the script still works: %d beats, then %d", before, after)
	}
	if l, err := ReadLedger(dir); err != nil || len(l.Stages) != 1 || l.Stages[0].State != Failed {
		t.Errorf("%+v, %v", l, err)
	}
}
