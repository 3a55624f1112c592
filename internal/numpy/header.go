package numpy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The format of an array is that of NumPy's numpy.lib.format (NEP 1, R. Kern, 2007). It has a magic
// string, two bytes of a version, the length of the header (two bytes in version 1.0, four in 2.0
// and 3.0, little-endian), the header, and the content. The header is a Python dictionary as text
// with the keys descr, fortran_order and shape. This package reads it itself, because the Go
// package for it, github.com/sbinet/npyio v0.6.0, does not know version 3.0 or float16, panics on
// truncated headers, and accepts a short read as a full one.
const magic = "\x93NUMPY"

// maxHeader is the largest size of a header in bytes. NumPy itself reads no larger one by default.
const maxHeader = 10_000

// header describes the content of an array.
type header struct {
	kind    dtype
	fortran bool // the first index varies fastest
	shape   []int
}

func readHeader(in io.Reader) (h header, size int64, err error) {
	start := make([]byte, len(magic)+2)
	if err := fill(in, start); err != nil {
		return h, 0, err
	}
	if string(start[:len(magic)]) != magic {
		return h, 0, errors.New("this is not an array of NumPy")
	}
	version := start[len(magic):]
	length := make([]byte, 4)
	switch {
	case version[1] == 0 && version[0] == 1:
		length = length[:2]
	case version[1] == 0 && (version[0] == 2 || version[0] == 3):
	default:
		return h, 0, fmt.Errorf("version %d.%d of the format, must be 1.0, 2.0 or 3.0", version[0], version[1])
	}
	if err := fill(in, length); err != nil {
		return h, 0, err
	}
	n := int64(binary.LittleEndian.Uint16(length))
	if len(length) == 4 {
		n = int64(binary.LittleEndian.Uint32(length))
	}
	if n > maxHeader {
		return h, 0, fmt.Errorf("a header of %d bytes, must have at most %d", n, maxHeader)
	}
	text := make([]byte, n)
	if err := fill(in, text); err != nil {
		return h, 0, err
	}
	h, err = parseHeader(string(text))
	return h, int64(len(start)+len(length)) + n, err
}

func fill(in io.Reader, to []byte) error {
	if _, err := io.ReadFull(in, to); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file ends in the header: %w", io.ErrUnexpectedEOF)
	} else if err != nil {
		return err
	}
	return nil
}

func parseHeader(text string) (header, error) {
	s := scanner{text}
	var h header
	seen := map[string]bool{}
	bad := func() (header, error) {
		return header{}, fmt.Errorf("header %.200q, must be a dictionary with descr, fortran_order and shape", text)
	}
	if !s.take("{") {
		return bad()
	}
	for !s.take("}") {
		key, ok := s.quoted()
		if !ok || seen[key] || !s.take(":") {
			return bad()
		}
		seen[key] = true
		var err error
		switch key {
		case "descr":
			h.kind, err = s.descr()
		case "fortran_order":
			if h.fortran = s.take("True"); !h.fortran && !s.take("False") {
				return bad()
			}
		case "shape":
			h.shape, err = s.shape()
		default:
			return bad()
		}
		if err != nil {
			return header{}, err
		}
		if !s.take(",") && !strings.HasPrefix(s.rest(), "}") {
			return bad()
		}
	}
	if s.rest() != "" || len(seen) != 3 {
		return bad()
	}
	return h, nil
}

// scanner reads literals of Python.
type scanner struct{ text string }

// rest returns the remaining text without leading blanks.
func (s *scanner) rest() string {
	s.text = strings.TrimLeft(s.text, " \n\t")
	return s.text
}

// take removes word from the text and returns true, if the text continues with it.
func (s *scanner) take(word string) bool {
	rest, ok := strings.CutPrefix(s.rest(), word)
	if ok {
		s.text = rest
	}
	return ok
}

// quoted removes a quoted text and returns its content.
func (s *scanner) quoted() (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if s.take(quote) {
			text, rest, ok := strings.Cut(s.text, quote)
			s.text = rest
			return text, ok && !strings.Contains(text, `\`)
		}
	}
	return "", false
}

// descr removes and returns the type of the elements.
func (s *scanner) descr() (dtype, error) {
	if strings.HasPrefix(s.rest(), "[") {
		return dtype{}, fmt.Errorf("elements of several fields, %.40s …, must be one number or text each", s.text)
	}
	text, ok := s.quoted()
	if !ok {
		return dtype{}, fmt.Errorf("type of elements %.100q, must be a text", s.text)
	}
	return parseType(text)
}

// maxDimensions is the largest number of dimensions, which is that of NumPy.
const maxDimensions = 64

// shape removes a tuple of numbers and returns the numbers.
func (s *scanner) shape() ([]int, error) {
	all := s.rest()
	bad := fmt.Errorf("shape %.100s, must be a tuple of whole numbers in [0, 2^63)", all)
	if !s.take("(") {
		return nil, bad
	}
	shape := []int{}
	for !s.take(")") {
		digits := len(s.rest()) - len(strings.TrimLeft(s.text, "0123456789"))
		n, err := strconv.ParseInt(s.text[:digits], 10, 64)
		if err != nil || n > math.MaxInt || len(shape) == maxDimensions {
			return nil, bad
		}
		s.text = s.text[digits:]
		s.take("L") // suffix of a long in Python 2
		shape = append(shape, int(n))
		if !s.take(",") && !strings.HasPrefix(s.rest(), ")") {
			return nil, bad
		}
	}
	return shape, nil
}

// shapeText writes a shape as NumPy does.
func shapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
