package numpy

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Array is a named array of float32. Values are in row-major order.
type Array struct {
	Name   string
	Shape  []int
	Values []float32
}

// WriteArchive writes the arrays as an .npz file, which is not compressed.
func WriteArchive(w io.Writer, arrays []Array) error {
	out := zip.NewWriter(w)
	for _, a := range arrays {
		f, err := out.CreateHeader(&zip.FileHeader{Name: a.Name + arrayEnd})
		if err != nil {
			return err
		}
		var shape strings.Builder
		for _, n := range a.Shape {
			fmt.Fprintf(&shape, "%d, ", n)
		}
		header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape.String())
		// Version 1.0 of the format: the values begin at a multiple of 64 bytes, after 10 bytes and the header.
		header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
		err = writeAll(f, []byte("\x93NUMPY\x01\x00"), uint16(len(header)), []byte(header), a.Values)
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// writeAll writes numbers, and slices of numbers, one after another.
func writeAll(w io.Writer, parts ...any) error {
	for _, part := range parts {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}

// tensor is the header of an array in a .safetensors file.
type tensor struct {
	Type  string   `json:"dtype"`
	Shape []int    `json:"shape"`
	Place [2]int64 `json:"data_offsets"` // first byte and end, after the header
}

const tensorType = "F32"

// WriteSafetensors writes the arrays in the format of Hugging Face's safetensors: the length of a header (8 bytes),
// the header as JSON with the type, the shape and the place of each tensor, and the values.
func WriteSafetensors(w io.Writer, arrays []Array) error {
	tensors, at, values := map[string]tensor{}, int64(0), make([]any, len(arrays))
	for i, a := range arrays {
		values[i] = a.Values
		end := at + 4*int64(len(a.Values))
		tensors[a.Name], at = tensor{tensorType, a.Shape, [2]int64{at, end}}, end
	}
	header, err := json.Marshal(tensors)
	if err != nil {
		return err
	}
	header = append(header, strings.Repeat(" ", (8-len(header)%8)%8)...) // the values are aligned
	return writeAll(w, append([]any{uint64(len(header)), header}, values...)...)
}
