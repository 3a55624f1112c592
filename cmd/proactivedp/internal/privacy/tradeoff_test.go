package privacy

import (
	"io"
	"testing"

	"proactivedp/dp/tradeoff"
	"proactivedp/internal/testkit"
)

func TestDrawTradeoff(t *testing.T) {
	alphas := []float64{0, 0.25, 0.5, 1}
	perfect := tradeoff.Sample(tradeoff.Label{Name: "perfect", Side: tradeoff.Exact},
		func(a float64) float64 { return 1 - a }, alphas)
	half := tradeoff.Sample(tradeoff.Label{Name: "half", Side: tradeoff.Lower},
		func(a float64) float64 { return (1 - a) / 2 }, alphas)
	for name, curves := range map[string]tradeoff.Curves{"tradeoff-of-one": {perfect},
		"tradeoff-of-two": {perfect, half}} {
		testkit.Golden(t, name, func(w io.Writer) error { return Tradeoff(w, curves, "caption") })
	}
}
