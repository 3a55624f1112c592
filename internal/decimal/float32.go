package decimal

import "math"

// pow10 has the powers of ten to which a number of 19 digits may be scaled. Those up to 1e22 are exact in
// float64; the others are rounded.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38}

// Float32 reads the usual forms of a decimal number, such as 12, -0.5 and 1.25e-07, as the nearest
// float32. It is a faster strconv.ParseFloat for most numbers in files. If ok is false, Float32 cannot
// read the text, and the caller must use strconv.ParseFloat. This happens for other forms, more than 19
// digits, powers of ten beyond pow10, numbers that are hard to round, and numbers outside the range of
// normal float32 numbers.
func Float32[T string | []byte](text T) (v float32, ok bool) {
	// Why the result is the nearest float32. The digits and the power of ten are each rounded to float64
	// at most once, and so is their product or quotient q. Each rounding changes q by at most one unit in
	// the last place (ulp), and the three by less than four. A float64 has 29 bits more than a float32. So
	// q rounds to the float32 nearest to the number, unless it is within four ulps of the middle between
	// two float32. In that case ok is false.
	i, negative := 0, false
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		i, negative = 1, text[0] == '-'
	}
	var mantissa uint64
	const most = (math.MaxUint64 - 9) / 10 // with one more digit, a larger one may overflow
	const mostBefore8 = (math.MaxUint64 - 99_999_999) / 100_000_000
	start := i
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		if mantissa > most {
			return 0, false
		}
		mantissa = 10*mantissa + uint64(text[i]-'0')
	}
	digits, exponent := i-start, 0
	if i < len(text) && text[i] == '.' {
		i++
		start = i
		for len(text)-i >= 8 && mantissa <= mostBefore8 {
			eight, ok := eightDigits(text[i : i+8])
			if !ok {
				break
			}
			mantissa = 1e8*mantissa + eight
			i += 8
		}
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			if mantissa > most {
				return 0, false
			}
			mantissa = 10*mantissa + uint64(text[i]-'0')
		}
		digits += i - start
		exponent = start - i
	}
	if digits == 0 {
		return 0, false
	}
	if i < len(text) {
		e, ok := exponentOf(text[i:])
		if !ok {
			return 0, false
		}
		exponent += e
	}
	q := float64(mantissa)
	switch {
	case mantissa == 0:
	case exponent < -len(pow10)+1 || exponent > len(pow10)-1:
		return 0, false
	case exponent < 0:
		q /= pow10[-exponent]
	default:
		q *= pow10[exponent]
	}
	const (
		extra     = 52 - 23 // additional fraction bits of a float64 compared with a float32
		middle    = 1 << (extra - 1)
		tolerance = 4
		smallest  = 0x1p-126
	)
	if mantissa != 0 && (q < smallest || q > math.MaxFloat32) {
		return 0, false
	}
	if rest := math.Float64bits(q) & (1<<extra - 1); rest-(middle-tolerance) <= 2*tolerance {
		return 0, false
	}
	if negative {
		q = -q
	}
	return float32(q), true
}

// eightDigits reads eight digits at once, by D. Lemire, "Number parsing at a gigabyte per second", Software: Practice
// and Experience 51(8), 2021: it adds neighbours to numbers of two, four and eight digits.
func eightDigits[T string | []byte](t T) (v uint64, ok bool) {
	v = uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 | uint64(t[4])<<32 | uint64(t[5])<<40 |
		uint64(t[6])<<48 | uint64(t[7])<<56
	const high, zeros = 0xf0f0f0f0f0f0f0f0, 0x3030303030303030
	if v&high != zeros || (v+0x0606060606060606)&high != zeros {
		return 0, false
	}
	v -= zeros
	v = 10*v + v>>8
	const twos = 0x000000ff000000ff
	return (v&twos*(100+1_000_000<<32) + v>>16&twos*(1+10_000<<32)) >> 32, true
}

// exponentOf reads e or E, a sign or none, and one or two digits.
func exponentOf[T string | []byte](text T) (e int, ok bool) {
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	i, negative := 1, false
	if len(text) > 1 && (text[1] == '+' || text[1] == '-') {
		i, negative = 2, text[1] == '-'
	}
	if digits := len(text) - i; digits < 1 || digits > 2 {
		return 0, false
	}
	for ; i < len(text); i++ {
		if text[i]-'0' > 9 {
			return 0, false
		}
		e = 10*e + int(text[i]-'0')
	}
	if negative {
		e = -e
	}
	return e, true
}
