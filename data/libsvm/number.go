package libsvm

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseShort parses [+-]digits[.digits] of at most 15 digits, the form of nearly all values. It
// returns false for text that parseFloat must parse.
//
// The digits and the power of ten are exact in float64, so their quotient q is rounded once.
// Rounding q to float32 is a second rounding. The result differs from rounding once only if q is
// exactly half-way between two float32 numbers. parseFloat parses these numbers, and those outside
// the range of normal float32 numbers.
func parseShort(text []byte) (float32, bool) {
	i, negative := 0, false
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		i, negative = 1, text[0] == '-'
	}
	var mantissa uint64
	digits, places, point := 0, 0, false
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c-'0' <= 9:
			mantissa = 10*mantissa + uint64(c-'0')
			digits++
			if point {
				places++
			}
		case c == '.' && !point:
			point = true
		default:
			return 0, false
		}
		if digits > 15 {
			return 0, false
		}
	}
	if digits == 0 {
		return 0, false
	}
	q := float64(mantissa)
	if places > 0 {
		q /= pow10[places]
	}
	const (
		extra    = 52 - 23 // additional fraction bits of a float64 compared with a float32
		halfWay  = 1 << (extra - 1)
		smallest = 0x1p-126
	)
	if mantissa != 0 && q < smallest || math.Float64bits(q)&(1<<extra-1) == halfWay {
		return 0, false
	}
	if negative {
		q = -q
	}
	return float32(q), true
}

// parseFloat parses any finite decimal number to the nearest float32. Its error does not show the
// text, which belongs to a record. If the number is beyond the range of float32, the error is
// errRange.
func parseFloat(text []byte) (float32, error) {
	for _, c := range text {
		switch {
		case c-'0' <= 9, c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default: // strconv.ParseFloat would also accept hexadecimal, underscores, infinities and NaN
			return 0, errNoNumber
		}
	}
	v, err := strconv.ParseFloat(string(text), 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return float32(math.Copysign(math.MaxFloat32, v)), errRange
	case err != nil:
		return 0, errNoNumber
	}
	return float32(v), nil
}

var (
	errNoNumber = errors.New("must be a finite decimal number")
	errRange    = fmt.Errorf("must be at most %v in size, the range of float32", float32(math.MaxFloat32))
)
