package f32

import (
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/cpu"
)

// A test run with the variable set to what cannot be had would test another
// class than it says.
func TestEnvironment(t *testing.T) {
	if err := EnvironmentErr(); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentClass(t *testing.T) {
	if c, err := environmentClass(""); c != widest() || err != nil {
		t.Errorf("not set: %v, %v", c, err)
	}
	for c := cpu.Portable; c <= cpu.NEON; c++ {
		got, err := environmentClass(c.String())
		if usable := slices.Contains(Classes(), c); usable != (err == nil) || usable && got != c || got > widest() {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
	if _, err := environmentClass("AVX-512"); err == nil || !strings.Contains(err.Error(), EnvKernels) {
		t.Errorf("an unknown word: %v", err)
	}
}

// Every class up to the widest can be used and be left again, none beyond.
func TestUse(t *testing.T) {
	before := Kernels()
	for _, c := range Classes() {
		restore, err := Use(c)
		if err != nil || Kernels() != c {
			t.Fatalf("%v: %v, %v", c, Kernels(), err)
		}
		restore()
		if Kernels() != before {
			t.Fatalf("%v instead of %v came back", Kernels(), before)
		}
	}
	for _, c := range []cpu.Class{-1, widest() + 1} {
		if _, err := Use(c); err == nil || Kernels() != before {
			t.Errorf("%v: %v, %v", c, Kernels(), err)
		}
	}
	if all := Classes(); all[0] != cpu.Portable || all[len(all)-1] != widest() {
		t.Errorf("%v", all)
	}
}

// Each class says how many operations its rounds are.
func TestPeakFMA(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		one, ten := PeakFMA(1), PeakFMA(10)
		if one < 16 || ten != 10*one {
			t.Errorf("%v and %v operations", one, ten)
		}
	})
	if !panics(func() { PeakFMA(0) }) {
		t.Error("no round: no panic")
	}
}
