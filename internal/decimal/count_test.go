package decimal

import (
	"math"
	"math/big"
	"testing"
)

func TestMany(t *testing.T) {
	for n, want := range map[int]string{0: "0 rounds", 1: "1 round", 2: "2 rounds", -1: "-1 rounds"} {
		if got := Many(n, "round"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// A count is a whole number, however it is written, and is read exactly.
func TestCountIsExact(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "7": 7, "+7": 7, "-3": -3, "1e4": 10_000, "1E4": 10_000, "2.5e3": 2500, "-2.5e1": -25, "1.0": 1,
		"1.50e1":              15,
		"9223372036854775807": math.MaxInt64, "1e18": 1_000_000_000_000_000_000,
		"1.000000000000000001e18": 1_000_000_000_000_000_001,
	} {
		if got, err := Count(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "e", "e4", ".e1", "+e4", "1e", "1.5", "1.25e1", "ten", "1e-1", "1e19", "1e99999999999999999999",
		"9223372036854775808", "1_000", "1,000",
		"0x10", "Inf", "NaN", "1.-5e3", "1.+5e3", " 1", "1 ", "--1", "1e4e4", "1.2.3e4", "½", "1/2",
	} {
		if got, err := Count(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

// Whatever is read as a count is, as a number, what was written.
func FuzzCount(f *testing.F) {
	for _, text := range []string{"0", "10000", "1e4", "2.5e3", "-1", "+7", "1.e0", ".5e1", "1e18",
		"9223372036854775807", "9.3e18", "1_000", "0x10", "1e-1", "--1", "1.5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Count(text)
		if err != nil {
			return
		}
		if want, ok := new(big.Rat).SetString(text); !ok || want.Cmp(new(big.Rat).SetInt64(int64(n))) != 0 {
			t.Errorf("%q is read as %d, is %v", text, n, want)
		}
	})
}
