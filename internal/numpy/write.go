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
		if _, err := io.WriteString(f, "\x93NUMPY\x01\x00"); err != nil {
			return err
		}
		if err := binary.Write(f, binary.LittleEndian, uint16(len(header))); err != nil {
			return err
		}
		if _, err := io.WriteString(f, header); err != nil {
			return err
		}
		if err := binary.Write(f, binary.LittleEndian, a.Values); err != nil {
			return err
		}
	}
	return out.Close()
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
	tensors, at := map[string]tensor{}, int64(0)
	for _, a := range arrays {
		end := at + 4*int64(len(a.Values))
		tensors[a.Name], at = tensor{tensorType, a.Shape, [2]int64{at, end}}, end
	}
	header, err := json.Marshal(tensors)
	if err != nil {
		return err
	}
	header = append(header, strings.Repeat(" ", (8-len(header)%8)%8)...) // the values are aligned
	if err := binary.Write(w, binary.LittleEndian, uint64(len(header))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, a := range arrays {
		if err := binary.Write(w, binary.LittleEndian, a.Values); err != nil {
			return err
		}
	}
	return nil
}
