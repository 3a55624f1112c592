package plan

import (
	"strconv"

	"proactivedp/internal/decimal"
)

// digits is the number of significant digits of a noise multiplier or a rate that is solved for.
const digits = 7

// up formats v ≥ 0 with the given number of significant digits, rounded up. Printed ε and δ are
// therefore never below the proved ones, and a printed σ is never below the one needed.
func up(v float64, digits int) string { return decimal.Up(v, digits) }

// down formats v ≥ 0 like up, but rounded down. It is used for sample rates, epochs and lower bounds on
// ε.
func down(v float64, digits int) string { return decimal.Down(v, digits) }

// roundUp and roundDown return the number that up and down print.
func roundUp(v float64) float64 { return number(up(v, digits)) }

func roundDown(v float64) float64 { return number(down(v, digits)) }

// number parses text that up or down has returned.
func number(text string) float64 {
	back, _ := strconv.ParseFloat(text, 64)
	return back
}
