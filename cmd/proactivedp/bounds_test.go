package main

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/cmd/proactivedp/internal/cli"
)

// bounds are the numbers of an answer of which one side is safe, by their JSON keys.
// What is printed of an upper one may not be below it, of a lower one not above.
// The others are none, and are printed to the nearest.
type bounds struct{ upper, lower, others []float64 }

// The keys of bounds. A noise multiplier that is solved for is rounded up, since less
// would not do.
var (
	upperKeys = map[string]bool{
		"epsilon": true, "epsilon_upper": true, "delta": true, "delta_upper": true, "gamma": true,
		"gamma_printed": true, "theta": true, "sigma": true, "closed_form": true, "add_or_remove": true,
		"replace_one": true, "t_min_real": true, "closed_form_epsilon": true,
	}
	lowerKeys = map[string]bool{
		"epsilon_lower": true, "delta_lower": true, "epsilon_lower_bound": true, "s_max_real": true,
	}
)

func (b *bounds) add(v any, key string) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			b.add(element, key)
		}
	case map[string]any:
		for key, value := range v {
			b.add(value, key)
		}
	case float64:
		if upperKeys[key] {
			b.upper = append(b.upper, v)
		}
		if lowerKeys[key] {
			b.lower = append(b.lower, v)
		}
		if !upperKeys[key] && !lowerKeys[key] {
			b.others = append(b.others, v)
		}
	}
}

var (
	printedNumber = regexp.MustCompile(`\d+(\.\d+)?(e[-+]?\d+)?`)
	// timing is what a clock has measured, which differs from run to run.
	timing = regexp.MustCompile(`(?m) +\d+\.\d{3}$|\d[\d.e+-]* (s|seconds|MiB|client rounds per second)\b`)
)

// unsafe lists the numbers of a text that are one of the bounds, to as many digits as
// they have, and on its unsafe side; seen is how many are a bound. A number is one if it
// is within one of its last digit. Below three digits it is none: it may be anything.
func (b bounds) unsafe(text string) (wrong []string, seen int) {
	for _, number := range printedNumber.FindAllString(timing.ReplaceAllString(text, ""), -1) {
		mantissa, _, _ := strings.Cut(number, "e")
		digits := len(strings.TrimLeft(strings.ReplaceAll(mantissa, ".", ""), "0"))
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || digits < 3 || mantissa == number && !strings.Contains(number, ".") {
			continue
		}
		decimals := 0
		if _, fraction, ok := strings.Cut(mantissa, "."); ok {
			decimals = len(fraction)
		}
		last := math.Pow(10, float64(-decimals))
		if exponent := number[len(mantissa):]; exponent != "" {
			power, _ := strconv.Atoi(strings.TrimPrefix(exponent[1:], "+"))
			last *= math.Pow(10, float64(power))
		}
		is, safe := false, false
		for side, values := range map[float64][]float64{1: b.upper, -1: b.lower} {
			for _, v := range values {
				if v != 0 && math.Abs(x-v) < last*(1-1e-9) {
					is, safe = true, safe || (x-v)*side >= 0
				}
			}
		}
		// An accuracy may have the digits of a σ.
		safe = safe || slices.ContainsFunc(b.others, func(v float64) bool { return math.Abs(x-v) <= last/2 })
		if is {
			seen++
		}
		if is && !safe {
			wrong = append(wrong, number)
		}
	}
	return wrong, seen
}

// printed returns what a command prints.
func printed(t *testing.T, line string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(cli.WithDraw(t.Context(), drawOnce), strings.Fields(line), &stdout, &stderr); code != exitOK {
		t.Fatalf("proactivedp %s: exit status %d\n%s", line, code, &stderr)
	}
	return stdout.String()
}

// Numbers on the unsafe side are found, in every notation, and others are let pass.
func TestUnsafeNumbersAreFound(t *testing.T) {
	b := bounds{
		upper: []float64{0.00056561086, 1.2345678, 2.5e-7}, lower: []float64{1.2341234}, others: []float64{1.23449},
	}
	for text, want := range map[string]string{
		"δ = 0.0005656,": "0.0005656", "δ = 0.0005657": "", "ε ≤ 1.23456, 0.0005656109": "1.23456",
		"accuracy 1.2345":       "",
		"ε in [1.2342, 1.2346]": "1.2342", "ε in [1.2341, 1.2346]": "", "δ = 2.49e-07": "", "δ = 2.50e-07": "",
		"δ = 5.656e-04": "5.656e-04", "12345 rounds in 1.2345 s": "",
	} {
		wrong, _ := b.unsafe(text)
		if got := strings.Join(wrong, " "); got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
}
