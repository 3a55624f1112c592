//go:build unix

package main

import "fmt"

// sign says on which side of its target a figure should be.
type sign string

const (
	atMost   sign = "≤"
	atLeast  sign = "≥"
	noTarget sign = ""
)

// figure is a row of a table: a measured value, its target, and whether the target is met.
type figure struct {
	of, what string
	value    float64
	decimals int
	unit     string // the unit of value and target, with the space before it
	sign     sign
	target   float64
}

const figureHeader = "| of | measured | value | target | verdict |\n|---|---|---|---|---|\n"

func (f figure) String() string {
	target := "–"
	if f.sign != noTarget {
		target = fmt.Sprintf("%s %v%s", f.sign, f.target, f.unit)
	}
	return fmt.Sprintf("| %s | %s | %.*f%s | %s | %s |\n", f.of, f.what, f.decimals, f.value, f.unit, target,
		f.verdict())
}

// verdict compares the measured value, not the rounded one, with the target. NaN meets no target.
func (f figure) verdict() string {
	switch {
	case f.sign == noTarget:
		return "–"
	case f.sign == atMost && f.value <= f.target, f.sign == atLeast && f.value >= f.target:
		return "met"
	}
	return "missed"
}
