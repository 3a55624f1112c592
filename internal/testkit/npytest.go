// This file writes arrays and archives in NumPy's format, for tests. It follows the description of
// the format in numpy.lib.format and does not use the code that reads the format.

package testkit

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Array is an array in NumPy's file format.
type Array struct {
	Version byte   // major version of the format; 0 means 1
	Descr   string // type of the elements, such as <f4
	Fortran bool
	Shape   []int
	Content []byte // the elements in the order of the file
}

// The length of everything before the content is a multiple of alignment.
const alignment = 64

// Bytes returns the content of the array's file.
func (a Array) Bytes() []byte {
	version := max(a.Version, 1)
	order := "False"
	if a.Fortran {
		order = "True"
	}
	shape := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(a.Shape)), ", "), "[]")
	if len(a.Shape) == 1 {
		shape += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", a.Descr, order, shape)
	return append(WithHeader(version, text), a.Content...)
}

// WithHeader returns the beginning of an array's file, up to the content: the magic bytes, the version, and the text
// of the header, padded with blanks and ended by a newline.
func WithHeader(version byte, text string) []byte {
	out := append([]byte("\x93NUMPY"), version, 0)
	width := 2
	if version > 1 {
		width = 4
	}
	for (len(out)+width+len(text)+1)%alignment != 0 {
		text += " "
	}
	text += "\n"
	if width == 2 {
		out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	} else {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	}
	return append(out, text...)
}

// Of returns an array with these elements, stored in little-endian C order.
func Of[T int64 | uint8 | float32 | float64](descr string, shape []int, elements ...T) Array {
	content, err := binary.Append(nil, binary.LittleEndian, elements)
	if err != nil {
		panic(err) // cannot happen for these types
	}
	return Array{Descr: descr, Shape: shape, Content: content}
}

// Texts returns an array of one dimension with texts of at most width characters, as NumPy stores Python's strings.
func Texts(width int, texts ...string) Array {
	a := Array{Descr: fmt.Sprintf("<U%d", width), Shape: []int{len(texts)}}
	for _, text := range texts {
		characters := append([]rune(text), make([]rune, width)...)[:width]
		for _, c := range characters {
			a.Content = binary.LittleEndian.AppendUint32(a.Content, uint32(c))
		}
	}
	return a
}

// Member is a file in an archive, usually an array.
type Member struct {
	Name    string
	Content []byte
}

// Archive returns the content of an .npz file, as np.savez or, if compressed, np.savez_compressed writes it.
func Archive(compressed bool, members ...Member) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	method := zip.Store
	if compressed {
		method = zip.Deflate
	}
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.Name + ".npy", Method: method})
		if err == nil {
			_, err = w.Write(m.Content)
		}
		if err != nil {
			return nil, fmt.Errorf("npytest: %s: %w", m.Name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("npytest: %w", err)
	}
	return out.Bytes(), nil
}
