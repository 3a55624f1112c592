package decimal

import (
	"errors"
	"strconv"
	"strings"
)

var errCount = errors.New("must be a whole number, such as 10000 or 1e4")

// maxExponent is the largest exponent of a count: 1e18 is the largest power of ten that fits an
// int64.
const maxExponent = 18

// Many writes n with a noun in singular or plural: "1 round", "2 rounds".
func Many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Count reads a whole number as people write it, such as 10000, 1e4 or 2.5e3, without rounding. 1.5 and numbers that
// do not fit an int are errors.
func Count(text string) (int, error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	shift := 0
	if scientific {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift < 0 || shift > maxExponent {
			return 0, errCount
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if strings.Trim(whole, "+-") == "" || len(fraction) > shift {
		return 0, errCount
	}
	n, err := strconv.Atoi(whole + fraction + strings.Repeat("0", shift-len(fraction)))
	if errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("is too large, must be below 2^63")
	}
	if err != nil {
		return 0, errCount
	}
	return n, nil
}
