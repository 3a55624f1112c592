package models

import (
	"errors"
	"math"
	"testing"
)

func TestClipFactor(t *testing.T) {
	for _, c := range []struct {
		norm, clip float64
		ok         bool
	}{
		{0, 1, true}, {0.5, 1, true}, {2, 1, true}, {1e100, 1e-10, true}, {3, math.Inf(1), true},
		{math.NaN(), 1, false}, {math.Inf(1), 1, false}, {1e200, 1, false},
		{2, math.NaN(), false}, {2, 0, false}, {2, -1, false},
	} {
		f, ok := ClipFactor(c.norm, c.clip)
		if ok != c.ok {
			t.Errorf("norm %v, clip %v: ok = %v", c.norm, c.clip, ok)
		}
		if ok && (c.norm*f > c.clip || f > 1 || f < min(1, c.clip/c.norm)*(1-1e-6)) {
			t.Errorf("norm %v, clip %v: factor %v", c.norm, c.clip, f)
		}
	}
}

func TestCheckFinite(t *testing.T) {
	if err := CheckFinite([]float32{0, -1, math.MaxFloat32}); err != nil {
		t.Error(err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := CheckFinite([]float32{1, float32(bad)}); !errors.Is(err, ErrDiverged) {
			t.Errorf("%v: error %v, want ErrDiverged", bad, err)
		}
	}
}

// Two classes have the AUC and the recall however many examples there are: a metric that silently becomes 0 looks like a
// model that has learnt nothing.
func TestTwoClassesHaveAnyNumberOfLogits(t *testing.T) {
	for _, c := range []struct {
		n, classes int
		want       bool
	}{{mostLogits, 2, false}, {mostLogits / 3, 3, false}, {mostLogits/3 + 1, 3, true}} {
		if got := tooMany(c.n, c.classes); got != c.want {
			t.Errorf("tooMany(%d, %d) = %t, want %t", c.n, c.classes, got, c.want)
		}
	}
}
