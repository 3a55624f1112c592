package numpy

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// maxTensorHeader is the largest size of the header of a .safetensors file, in bytes.
const maxTensorHeader = 1 << 20

// ReadArrays reads the values of the arrays in want from f, an open .npz or .safetensors file of size bytes. The
// caller gives names and shapes. The file must have exactly these arrays, and only finite numbers.
func ReadArrays(f *os.File, size int64, want []Array) error {
	read := readArchive
	if strings.HasSuffix(f.Name(), ".safetensors") {
		read = readSafetensors
	}
	if err := read(f, size, want); err != nil {
		return err
	}
	for _, a := range want {
		if i := slices.IndexFunc(a.Values, func(v float32) bool { return v-v != 0 }); i >= 0 {
			return fmt.Errorf("%s: %s: number %d must be finite", f.Name(), a.Name, i)
		}
	}
	return nil
}

// checkNames compares the names of a file's arrays with those that are wanted.
func checkNames(path string, has []string, want []Array) error {
	var names []string
	for _, a := range want {
		names = append(names, a.Name)
	}
	slices.Sort(has)
	if slices.Sort(names); !slices.Equal(has, names) {
		return fmt.Errorf("%s: arrays %.200q, must be %.200q", path, has, names)
	}
	return nil
}

func checkShape(path string, a Array, shape []int) error {
	if !slices.Equal(shape, a.Shape) {
		return fmt.Errorf("%s: %s: shape %s, must be %s", path, a.Name, shapeText(shape), shapeText(a.Shape))
	}
	return nil
}

func readArchive(f *os.File, size int64, want []Array) error {
	archive, err := openArchive(f.Name(), f, size)
	if err != nil {
		return err
	}
	var names []string
	for _, z := range archive.files {
		names = append(names, arrayName(z))
	}
	if err := checkNames(f.Name(), names, want); err != nil {
		return err
	}
	for _, of := range want {
		a, err := archive.array(archive.named(of.Name))
		if err != nil {
			return err
		}
		if err := checkShape(f.Name(), of, a.shape); err != nil {
			return err
		}
		if !a.floats() {
			return a.fault("type %s, must be floating point", a.kind.text)
		}
		rows := form{features: a.shape[len(a.shape)-1], strides: make([]int, len(a.shape))}
		for i, step := len(a.shape)-1, 1; i >= 0; i-- {
			rows.strides[i] = step
			step *= a.shape[i]
		}
		if err := a.numbers(rows, false, of.Values); err != nil {
			return err
		}
	}
	return nil
}

func readSafetensors(f *os.File, size int64, want []Array) error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%s: "+format, append([]any{f.Name()}, args...)...)
	}
	var length uint64
	if err := binary.Read(f, binary.LittleEndian, &length); err != nil {
		return fault("the file ends in the length of the header")
	}
	if length > maxTensorHeader || int64(length) > size-8 {
		return fault("the header has %d bytes, must be at most %d and end with the file", length, maxTensorHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(f, text); err != nil {
		return fault("the file ends in the header")
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(text, &header); err != nil {
		return fault("header: %w", err)
	}
	delete(header, "__metadata__") // texts about the file
	if err := checkNames(f.Name(), slices.Collect(maps.Keys(header)), want); err != nil {
		return err
	}
	for _, of := range want {
		var t tensor
		if err := json.Unmarshal(header[of.Name], &t); err != nil {
			return fault("%s: %w", of.Name, err)
		}
		if t.Type != tensorType {
			return fault("%s: type %.20q, must be %s", of.Name, t.Type, tensorType)
		}
		if err := checkShape(f.Name(), of, t.Shape); err != nil {
			return err
		}
		start, end, most := t.Place[0], t.Place[1], size-8-int64(length)
		if start < 0 || end < start || end > most || end-start != 4*int64(len(of.Values)) {
			return fault("%s: bytes %d to %d of %d, must be %d inside the file", of.Name, start, end, most, 4*len(of.Values))
		}
		values := io.NewSectionReader(f, 8+int64(length)+start, end-start)
		if err := binary.Read(values, binary.LittleEndian, of.Values); err != nil {
			return errors.Join(fault("%s cannot be read", of.Name), err)
		}
	}
	return nil
}
