package plan

import (
	"strconv"

	"proactivedp/internal/decimal"
)

// digits of a noise multiplier or a rate that is solved for.
const digits = 7

// up formats v ≥ 0 with the given number of significant digits, rounded up, so
// that the ε and δ on paper are not below those proved, nor σ below the one needed.
func up(v float64, digits int) string { return decimal.Up(v, digits) }

// down formats v ≥ 0 rounded down: sample rates, epochs, and ε from below.
func down(v float64, digits int) string { return decimal.Down(v, digits) }

// roundUp and roundDown return v as up and down write it.
func roundUp(v float64) float64 { return number(up(v, digits)) }

func roundDown(v float64) float64 { return number(down(v, digits)) }

// number returns what up or down have written.
func number(text string) float64 {
	back, _ := strconv.ParseFloat(text, 64)
	return back
}
