package decimal

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// What is written errs on its side, by one of the last digit at most, and has no more digits
// than are asked for: beside every power of ten that a float64 has, and anywhere.
func TestRoundingErrsOnItsSide(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for e := -323; e <= 308; e++ {
		power, err := strconv.ParseFloat("1e"+strconv.Itoa(e), 64)
		if err != nil {
			t.Fatal(err)
		}
		values := []float64{power, math.Nextafter(power, 0), math.Nextafter(power, math.Inf(1)), power * (1 - 1e-8)}
		for _, near := range []float64{0.995, 1.00000001, 9.5, 9.99995, 1 + 9*random.Float64()} {
			values = append(values, near*power)
		}
		for _, digits := range []int{1, 2, 3, 5, 9, 16, 17} {
			for _, v := range values {
				checkRounded(t, v, digits)
			}
		}
	}
	for v, want := range map[float64]string{0: "0", 0.5: "0.5", 0.25: "0.25", 9.999999: "10", 1e-5: "1e-05"} {
		if got := Up(v, 5); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

// What is no number, and an infinity, has its name on every side.
func TestRoundingOfNoNumber(t *testing.T) {
	for v, want := range map[float64]string{math.NaN(): "NaN", math.Inf(1): "+Inf", math.Inf(-1): "-Inf"} {
		for _, got := range []string{Up(v, 4), Down(v, 4), FixedUp(v, 2), FixedDown(v, 2)} {
			if got != want {
				t.Errorf("%v is %q, want %q", v, got, want)
			}
		}
	}
}

// checkRounded checks what is written of v.
func checkRounded(t *testing.T, v float64, digits int) {
	t.Helper()
	if math.IsInf(v, 0) {
		return
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	for text, side := range map[string]int{Up(v, digits): 1, Down(v, digits): -1} {
		back, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			t.Fatalf("%v with %d digits is %s (%v)", v, digits, text, err)
		}
		mantissa, _, _ := strings.Cut(text, "e")
		shown := len(strings.TrimLeft(strings.ReplaceAll(mantissa, ".", ""), "0"))
		first, failed := strconv.Atoi(exponent)
		if failed != nil {
			t.Fatal(failed)
		}
		unit := exactly(t, "1e"+strconv.Itoa(first-digits+1))
		off := exactly(t, text)
		off.Sub(off, big.NewFloat(v))
		if (back-v)*float64(side) < 0 || shown > digits || off.Abs(off).Cmp(unit) > 0 {
			t.Fatalf("%v with %d digits to the side %d is %s", v, digits, side, text)
		}
	}
}

// exactly returns the number of a text, to more digits than a float64 has.
func exactly(t *testing.T, text string) *big.Float {
	t.Helper()
	x, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// So does what is written with a number of decimals.
func TestFixedErrsOnItsSide(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		v, decimals := math.Pow(10, 25*random.Float64()-5), random.IntN(8)
		for _, c := range []struct {
			text string
			side float64
		}{{FixedUp(v, decimals), 1}, {FixedDown(v, decimals), -1}} {
			back, err := strconv.ParseFloat(c.text, 64)
			if off := (back - v) * c.side; err != nil || off < 0 || off > 1.0001*math.Pow(10, float64(-decimals)) {
				t.Fatalf("%v with %d decimals is %s (%v)", v, decimals, c.text, err)
			}
		}
	}
	if up, down := FixedUp(0.5, 2), FixedDown(2.999, 2); up != "0.50" || down != "2.99" {
		t.Errorf("0.5 is %s and 2.999 is %s", up, down)
	}
}

// What is written exactly reads back to the same bits, and takes no more digits than
// that needs.
func TestExactly(t *testing.T) {
	for want, v := range map[string]float64{
		"0.1": 0.1, "19.29962": 19.29962, "1e-05": 1e-5, "0.30000000000000004": 0.30000000000000004,
		"100000": 1e5, "-2": -2, "1e+21": 1e21,
	} {
		if got := Exactly(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

// A zero has no sign, as of --epsilon -0.
func TestZeroHasNoSign(t *testing.T) {
	zero := math.Copysign(0, -1)
	for _, text := range []string{Up(zero, 5), Down(zero, 5), FixedUp(zero, 0), FixedDown(zero, 0)} {
		if text != "0" {
			t.Errorf("-0 is shown as %s, want 0", text)
		}
	}
}

// A setting is rounded to the nearest number with some digits. If no float64 is that number, it stays as it is.
func TestDigits(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   float64
	}{
		{0.123456, 3, 0.123}, {0.1236, 3, 0.124}, {19.29962, 2, 19}, {1e-9, 1, 1e-9}, {0, 3, 0}, {-2.55, 1, -3},
		{math.MaxFloat64, 1, math.MaxFloat64},
	} {
		if got := Digits(c.v, c.digits); got != c.want {
			t.Errorf("%v to %d digits is %v, want %v", c.v, c.digits, got, c.want)
		}
	}
}
