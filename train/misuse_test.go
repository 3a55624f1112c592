package train

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/sim/clock"
)

// Misuse of functions without an error result panics. The text names the argument and its range, and no
// memory was allocated for impossible numbers.
func TestMisusePanicsWithItsName(t *testing.T) {
	root := rng.New(1)
	drawn := clock.Speeds{Kind: clock.Lognormal, Shape: 0.5}
	listed := clock.Speeds{List: []float64{1, 0.5}}
	for want, call := range map[string]func(){
		"sim: roots of -1 clients, must be in [0, 1000000]":                func() { sim.SharedRoots(root, -1) },
		"sim: roots of 1099511627776 clients, must be in [0, 1000000]":     func() { sim.SharedRoots(root, 1<<40) },
		"clock: factors of 1099511627776 clients, must be in [0, 1000000]": func() { drawn.Factors(1<<40, root) },
		"clock: factors of -1 clients, must be in [0, 1000000]":            func() { drawn.Factors(-1, root) },
		"clock: factors: number of speeds = 2, must be 3, one for each client": func() {
			listed.Factors(3, root)
		},
		"train: a trace without a writer":                            func() { NewTrace(nil, 1) },
		"train: trace of 2147483648 clients, must be in [1, 262144]": func() { NewTrace(io.Discard, 1<<31) },
		"train: trace of 0 clients, must be in [1, 262144]":          func() { NewTrace(io.Discard, 0) },
	} {
		if got := fmt.Sprint(panicOf(call)); !strings.HasPrefix(got, want) {
			t.Errorf("panics with %q, want %q", got, want)
		}
	}
}

func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// A Saved that was not read from a file has no parameters for predictions. A negative number of updates
// between checkpoints is refused.
func TestModelWithoutParametersAndNegativeEvery(t *testing.T) {
	s := Saved{Inputs: NewInputs(drawn(), "", nil)}
	if _, err := s.Predict(drawn()); err == nil || !strings.Contains(err.Error(), "OpenModel") {
		t.Errorf("prediction by nothing: error %v", err)
	}
	p, err := NewSource(drawn()).Prepare(smallSpec())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "checkpoint")
	_, _, err = p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path, Every: -1})
	if err == nil || !strings.Contains(err.Error(), "= -1") {
		t.Errorf("every -1 updates: error %v", err)
	}
}
