package decimal

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// What is written errs on its side, by one of the last digit at most.
func TestRoundingErrsOnItsSide(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v, digits := math.Pow(10, 40*random.Float64()-30), 2+random.IntN(8)
		for _, c := range []struct {
			text string
			side float64
		}{{Up(v, digits), 1}, {Down(v, digits), -1}} {
			back, err := strconv.ParseFloat(c.text, 64)
			if off := (back - v) * c.side; err != nil || off < 0 || off > 1.0001*math.Pow(10, float64(1-digits))*v {
				t.Fatalf("%v with %d digits is %s (%v)", v, digits, c.text, err)
			}
		}
	}
	for v, want := range map[float64]string{0: "0", 0.5: "0.5", 0.25: "0.25", 9.999999: "10", 1e-5: "1e-05"} {
		if got := Up(v, 5); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

// So does what is written with a number of decimals.
func TestFixedErrsOnItsSide(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		v, decimals := math.Pow(10, 10*random.Float64()-5), random.IntN(8)
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
