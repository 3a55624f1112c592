package papertables

import (
	"strconv"

	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// verdict says whether a procedure reproduces a printed number.
type verdict string

const (
	reproduced  verdict = "reproduced"
	byAnother   verdict = "reproduced by another procedure"
	unsupported verdict = "does not follow"
	given       verdict = "given" // the other numbers of its row are computed from it
)

// The kinds of numbers in the tables.
const (
	quantityEpsilon = "ε"
	quantitySigma   = "σ"
	quantitySize    = "s"
	quantityDelta   = "δ"
	quantityTarget  = "ε_target"
	quantityFDP     = "ε_f-DP"
	quantityFactor  = "ε_target/ε_f-DP"
)

// cell is one printed number with everything that it is compared with.
type cell struct {
	table, row, quantity string
	printed              paper.Number
	computed             string // result of the procedure
	procedure            string
	answers              answers
	verdict              verdict
}

// candidate is a value that may have been printed, and the procedure that gives it.
type candidate struct {
	procedure string
	described bool // whether the paper describes this procedure
	value     float64
}

// judge returns the cell with its verdict and procedure: those of the first candidate that matches, or
// else of the first candidate. Without candidates the verdict is given.
func (c cell) judge(matches func(float64) bool, candidates ...candidate) cell {
	if len(candidates) == 0 {
		c.verdict, c.computed, c.procedure = given, report.NoAnswer, report.NoAnswer
		return c
	}
	chosen := candidates[0]
	c.verdict = unsupported
	for _, candidate := range candidates {
		if matches(candidate.value) {
			chosen, c.verdict = candidate, byAnother
			if candidate.described {
				c.verdict = reproduced
			}
			break
		}
	}
	c.computed, c.procedure = strconv.FormatFloat(chosen.value, 'g', 7, 64), chosen.procedure
	return c
}
