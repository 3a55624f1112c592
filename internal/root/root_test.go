package root

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// counted counts the evaluations of f.
func counted(f func(float64) float64) (func(float64) float64, *int) {
	n := new(int)
	return func(x float64) float64 { *n++; return f(x) }, n
}

func TestFind(t *testing.T) {
	tests := []struct {
		name   string
		f      func(float64) float64
		lo, hi float64
		want   float64
		most   int // evaluations
	}{
		{"line", func(x float64) float64 { return 3*x - 1 }, -10, 10, 1. / 3, 12},
		{"falling", func(x float64) float64 { return 2 - x }, 0, 7, 2, 12},
		{"cubic", func(x float64) float64 { return x*x*x - 2*x - 5 }, 2, 3, 2.0945514815423265, 12},
		{"cosine", func(x float64) float64 { return math.Cos(x) - x }, 0, 1, 0.7390851332151607, 12},
		{"exponential", func(x float64) float64 { return math.Exp(x) - 1e100 }, 0, 700, 100 * math.Ln10, 140},
		{"zero at lo", func(x float64) float64 { return x }, 0, 1, 0, 2},
		{"zero at hi", func(x float64) float64 { return x - 1 }, 0, 1, 1, 2},
		{"point", func(x float64) float64 { return x - 1 }, 1, 1, 1, 2},
		{"ninth power", func(x float64) float64 { return math.Pow(x-1, 9) }, 0, 3, 1, 260},
		{"flat", func(x float64) float64 { return (x - 1) * math.Exp(-1/((x-1)*(x-1)+1e-300)) }, 0, 3, 1, 260},
		{"pole beside it", func(x float64) float64 { return 1/(1-x) - 1e9 }, 0, 1 - 1e-12, 1 - 1e-9, 200},
		{"step", func(x float64) float64 { return math.Copysign(1, x-math.Pi) }, 0, 10, math.Pi, 230},
		{"huge against tiny", func(x float64) float64 {
			if x < 2 {
				return -1e-300
			}
			return 1e300
		}, 0, 1000, 2, 260},
		{"tiny root", func(x float64) float64 { return x - 1e-200 }, -1, 1, 1e-200, 6000},
	}
	for _, tt := range tests {
		f, n := counted(tt.f)
		x, err := Find(f, tt.lo, tt.hi, 1e-15)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		tol := 4e-15 * math.Abs(tt.want)
		if tt.name == "ninth power" || tt.name == "flat" {
			tol = 0.1 // f underflows to zero around the root
		}
		if math.Abs(x-tt.want) > tol {
			t.Errorf("%s: %v, want %v", tt.name, x, tt.want)
		}
		if *n > tt.most {
			t.Errorf("%s: %d evaluations, want at most %d", tt.name, *n, tt.most)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	id := func(x float64) float64 { return x }
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name        string
		f           func(float64) float64
		lo, hi, tol float64
		want        string
	}{
		{"NaN lo", id, nan, 1, 0, "interval"},
		{"infinite hi", id, -1, inf, 0, "interval"},
		{"infinite both", id, inf, inf, 0, "interval"},
		{"reversed", id, 1, -1, 0, "interval"},
		{"too wide", id, -1e308, 1e308, 0, "interval"},
		{"NaN tolerance", id, -1, 1, nan, "tolerance"},
		{"negative tolerance", id, -1, 1, -1e-9, "tolerance"},
		{"tolerance 1", id, -1, 1, 1, "tolerance"},
		{"NaN at lo", func(x float64) float64 { return nan }, -1, 1, 0, "f(-1)"},
		{"Inf at hi", func(x float64) float64 { return x / (1 - x) }, -1, 1, 0, "f(1)"},
		{"NaN inside", func(x float64) float64 {
			if math.Abs(x) < 0.5 {
				return nan
			}
			return x
		}, -1, 1, 0, "must be finite"},
	}
	for _, tt := range tests {
		if x, err := Find(tt.f, tt.lo, tt.hi, tt.tol); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v; want an error with %q", tt.name, x, err, tt.want)
		}
	}
	if _, err := Find(func(x float64) float64 { return 1 + x*x }, -1, 1, 0); !errors.Is(err, ErrNoSignChange) {
		t.Errorf("no sign change: %v", err)
	}
}

// Whatever the increasing function, the answer is within the tolerance of the
// one place where the sign changes.
func TestFindProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		want := math.Exp(r.NormFloat64() * 5)
		power := 1 + 2*float64(r.IntN(4))
		left, right := math.Exp(r.NormFloat64()*10), math.Exp(r.NormFloat64()*10)
		f, n := counted(func(x float64) float64 {
			if x < want {
				return -left * math.Pow(1-x/want, power)
			}
			return right * math.Pow(x/want-1, power)
		})
		lo, hi := want*(1-2*r.Float64()), want*(1+10*r.Float64())
		tol := math.Exp(-5 - 30*r.Float64())
		x, err := Find(f, lo, hi, tol)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(x/want-1) > tol*(1+1e-9)+4e-16 {
			t.Fatalf("power %v, %v and %v, [%v, %v], tolerance %v: %v, want %v", power, left, right, lo, hi, tol, x,
				want)
		}
		if *n > 250 {
			t.Fatalf("%d evaluations", *n)
		}
	}
}

func TestBracket(t *testing.T) {
	for _, want := range []float64{-1e6, -3, 0, 0.5, 7, 1e12, 1e200} {
		f := func(x float64) float64 { return math.Atan((x - want) / (1 + math.Abs(want))) }
		lo, hi, err := Bracket(f, -1, 1)
		if err != nil || !(lo <= want && want <= hi) {
			t.Errorf("[%v, %v], %v; must hold %v", lo, hi, err, want)
		}
	}
	if _, _, err := Bracket(func(x float64) float64 { return 1 }, -1, 1); !errors.Is(err, ErrNoSignChange) {
		t.Errorf("constant: %v", err)
	}
	if _, _, err := Bracket(func(x float64) float64 { return 1 + math.Exp(x) }, -1, 1); !errors.Is(err,
		ErrNoSignChange) {
		t.Errorf("positive: %v", err)
	}
	for _, bad := range [][2]float64{{1, 1}, {1, 0}, {math.NaN(), 1}, {0, math.Inf(1)}} {
		if _, _, err := Bracket(func(x float64) float64 { return x }, bad[0], bad[1]); err == nil {
			t.Errorf("interval %v accepted", bad)
		}
	}
	for _, f := range []func(float64) float64{
		func(x float64) float64 { return math.Log(x - 1) },
		func(x float64) float64 { return 1 / (x - 2) },
		func(x float64) float64 { return 2 - math.Log(x) + math.Log(-x+5) },
	} {
		if _, _, err := Bracket(f, 1, 2); err == nil {
			t.Error("not finite, yet accepted")
		}
	}
}

// An interval that cannot be doubled any more is named by ends at which the function was looked at.
func TestBracketNamesWhatItLookedAt(t *testing.T) {
	for _, sign := range []float64{1, -1} { // the interval grows to the left, then to the right
		seen := map[float64]float64{}
		_, _, err := Bracket(func(x float64) float64 {
			seen[x] = 2 + sign*math.Atan(x)
			return seen[x]
		}, -1, 1)
		if !errors.Is(err, ErrNoSignChange) {
			t.Fatal(err)
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for x := range seen {
			lo, hi = min(lo, x), max(hi, x)
		}
		if want := fmt.Sprintf("f(%v) = %v, f(%v) = %v", lo, seen[lo], hi, seen[hi]); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
