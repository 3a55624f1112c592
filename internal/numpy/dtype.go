package numpy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

type dtype struct {
	text  string // as in the header
	kind  byte   // one of the kinds below
	size  int    // bytes per element
	order binary.ByteOrder
}

// The kinds of elements, as letters of the format.
const (
	boolean  = 'b'
	signed   = 'i'
	unsigned = 'u'
	floating = 'f'
	unicode  = 'U' // four bytes per character
	byteText = 'S'
)

// maxText is the largest size of a text, in bytes.
const maxText = 1 << 12

// parseType reads a type such as <f4: the byte order, the kind, and the number of bytes or
// characters of an element.
func parseType(text string) (dtype, error) {
	t := dtype{text: text, order: binary.LittleEndian}
	bad := fmt.Errorf("elements of the type %.40q, must be bool, int or uint of 8 to 64 bits, float of 16 to 64, or, "+
		"for labels, text", text)
	if len(text) < 2 || !strings.ContainsRune("<>|", rune(text[0])) {
		return t, bad
	}
	if text[0] == '>' {
		t.order = binary.BigEndian
	}
	if t.kind = text[1]; t.kind == 'O' {
		return t, errors.New("elements are Python objects, which are pickled and never read: save numbers, such as " +
			"x.astype(\"float32\")")
	}
	n, err := strconv.ParseUint(text[2:], 10, 31)
	if err != nil {
		return t, bad
	}
	t.size = int(n)
	fits := false
	switch t.kind {
	case boolean:
		fits = n == 1
	case signed, unsigned:
		fits = n == 1 || n == 2 || n == 4 || n == 8
	case floating:
		fits = n == 2 || n == 4 || n == 8
	case unicode:
		t.size = 4 * int(n)
		fits = n >= 1 && n <= maxText/4
	case byteText:
		fits = n >= 1 && n <= maxText
	}
	if text[0] == '|' && t.size > 1 && t.kind != byteText {
		fits = false // the byte order is missing
	}
	if !fits {
		return t, bad
	}
	return t, nil
}

func (t dtype) isText() bool { return t.kind == unicode || t.kind == byteText }

// float32s sets to to the numbers in raw, each rounded once to the nearest float32. A byte that is
// no value of the type, such as a bool of 2, becomes NaN, and a number that is too large becomes
// infinite.
func (t dtype) float32s(to []float32, raw []byte) {
	if t.kind == floating && t.size == 4 && t.order == binary.LittleEndian { // nearly all files: without a call per number
		for i := range to {
			to[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i : 4*i+4]))
		}
		return
	}
	for i := range to {
		switch b := raw[i*t.size:]; {
		case t.kind == floating:
			to[i] = float32(t.float(b))
		case t.kind == boolean && b[0] > 1:
			to[i] = float32(math.NaN())
		case t.kind == signed:
			to[i] = float32(t.int64(b))
		default:
			to[i] = float32(t.uint64(b))
		}
	}
}

// overflows reports whether a finite number is beyond the range of float32.
func (t dtype) overflows(b []byte) bool {
	if t.kind != floating || t.size != 8 {
		return false
	}
	v := t.float(b)
	return v-v == 0 && math.IsInf(float64(float32(v)), 0)
}

func (t dtype) float(b []byte) float64 {
	switch t.size {
	case 2:
		return float64(fromFloat16(t.order.Uint16(b)))
	case 4:
		return float64(math.Float32frombits(t.order.Uint32(b)))
	}
	return math.Float64frombits(t.order.Uint64(b))
}

// int64 moves the sign to the highest bit, and back.
func (t dtype) int64(b []byte) int64 {
	unused := 64 - 8*t.size
	return int64(t.uint64(b)<<unused) >> unused
}

func (t dtype) uint64(b []byte) uint64 {
	switch t.size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(t.order.Uint16(b))
	case 4:
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// fromFloat16 converts a number of IEEE 754's binary16, which has a sign, 5 bits of exponent and 10
// of fraction.
func fromFloat16(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, uint32(bits>>10&31), uint32(bits&1023)
	switch exponent {
	case 0:
		small := float32(fraction) * 0x1p-24
		return math.Float32frombits(sign | math.Float32bits(small))
	case 31:
		exponent = 255
	default:
		exponent += 127 - 15
	}
	return math.Float32frombits(sign | exponent<<23 | fraction<<13)
}

// number writes a number as it is in the file, for an error.
func (t dtype) number(b []byte) string {
	switch {
	case t.kind == floating:
		return strconv.FormatFloat(t.float(b), 'g', -1, max(32, 8*t.size))
	case t.kind == signed:
		return strconv.FormatInt(t.int64(b), 10)
	}
	return strconv.FormatUint(t.uint64(b), 10)
}

// labelsBelow bounds labels that are numbers. Labels are compared as float64, and two integers of
// this size or more may be the same float64.
const labelsBelow = 1 << 53

func (t dtype) label(b []byte) (string, error) {
	switch t.kind {
	case unicode:
		return t.characters(b)
	case byteText:
		text := strings.TrimRight(string(b), "\x00")
		if !utf8.ValidString(text) {
			return "", fmt.Errorf("label %.40q, must be UTF-8", text)
		}
		return text, nil
	}
	text := t.number(b)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) >= labelsBelow || t.kind == boolean && v > 1 {
		return "", fmt.Errorf("label %s, must be a whole number below 2^53 in size, or a text", text)
	}
	return text, nil
}

// characters returns a text of four bytes per character.
func (t dtype) characters(b []byte) (string, error) {
	var text strings.Builder
	for len(b) > 0 && strings.Trim(string(b), "\x00") != "" {
		c := t.order.Uint32(b)
		if c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
			return "", fmt.Errorf("a label with the character %#x, must be Unicode", c)
		}
		text.WriteRune(rune(c))
		b = b[4:]
	}
	return text.String(), nil
}
