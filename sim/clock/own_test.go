package clock

import (
	"strings"
	"testing"
	"time"

	"proactivedp/rng"
)

// fixed is a Distribution that draws what it is.
type fixed time.Duration

func (d fixed) Mean() time.Duration            { return time.Duration(d) }
func (d fixed) Draw(*rng.Stream) time.Duration { return time.Duration(d) }
func (d fixed) String() string                 { return "fixed" }

// A Distribution is drawn from like a family, never below 0, and checked.
func TestOwnDistribution(t *testing.T) {
	root, s := rng.New(1), new(rng.Stream)
	d := Duration{Kind: Own, Own: fixed(3)}
	if got := d.At(root, rng.ComputeTime, 0, 0, 7, s); got != 21 || d.Expected() != 3 || d.ExpectedOf(2) != 3 {
		t.Errorf("7 times a draw of 3 = %d, mean %v", got, d.Expected())
	}
	if got := (&Duration{Kind: Own, Own: fixed(-3)}).At(root, rng.ComputeTime, 0, 0, 1, s); got != 0 {
		t.Errorf("a draw below 0 gave %d", got)
	}
	for want, own := range map[string]Distribution{
		"own duration = nil": nil, "mean of fixed = -1ns, must be in [0, 1h0m0s]": fixed(-1),
		"mean of fixed = 1h": fixed(time.Hour + 1),
	} {
		timing := DefaultTiming()
		timing.Uplink = Duration{Kind: Own, Own: own}
		if err := timing.Validate(1); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "(uplink)") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := ParseDuration("own:1ms"); err == nil {
		t.Error("a text names a Distribution")
	}
}
