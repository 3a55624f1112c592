package libsvm

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

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
