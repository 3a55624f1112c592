//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/data/table"
	"proactivedp/internal/numpy"
	"proactivedp/rng"
)

// The files that are read have so many rows and features.
const readRows, readFeatures = 20_000, 100

// writeReading measures the readers of tables on files of normal numbers in dir.
func writeReading(w io.Writer, dir string, runs int) error {
	fmt.Fprintf(w, "\n## Reading\n\n%s rows of %d normal numbers, in text with six digits; medians of %d runs. Times are "+
		"processor times; text is read in chunks by all processors at once.\n\n"+figureHeader,
		thousands(readRows), readFeatures, runs)
	figures, err := measureReading(dir, readRows, runs)
	for _, f := range figures {
		fmt.Fprint(w, f)
	}
	return err
}

func measureReading(dir string, rows, runs int) ([]figure, error) {
	labels, err := data.ParseLabels("0,1")
	if err != nil {
		return nil, err
	}
	if err := writeRows(dir, rows); err != nil {
		return nil, err
	}
	var figures []figure
	for _, c := range []struct {
		of, file string
		least    float64 // megabytes for a second of one processor
		read     func(path string) (*data.Dataset, error)
	}{
		{"CSV", csvFile, 100, func(path string) (*data.Dataset, error) {
			return table.ParseFile(path, table.Options{Label: "y", Labels: labels})
		}},
		{"LIBSVM", sparseFile, 75, func(path string) (*data.Dataset, error) {
			return libsvm.ParseFile(path, libsvm.Options{Labels: labels})
		}},
		{"NumPy's archive, float32", arrayFile, 500, func(path string) (*data.Dataset, error) {
			return numpy.ParseFile(path, numpy.Options{Labels: labels})
		}},
	} {
		path := filepath.Join(dir, c.file)
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		ms, err := timed(runs, func() error {
			_, err := c.read(path)
			return err
		})
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			figure{c.of, "read in a second of one processor", float64(info.Size()) / 1e3 / ms, 0, " MB", atLeast, c.least})
	}
	return figures, nil
}

const csvFile, sparseFile, arrayFile = "rows.csv", "rows.libsvm", "rows.npz"

// writeRows writes the same rows of normal numbers, with their labels, to the three files.
func writeRows(dir string, rows int) error {
	var csv, sparse, packed bytes.Buffer
	for i := range readFeatures {
		fmt.Fprintf(&csv, "c%d,", i)
	}
	csv.WriteString("y\n")
	x, y := make([]float32, rows*readFeatures), make([]float32, rows)
	values := rng.New(1).Stream(rng.Synthetic, 0, 0)
	for i := range y {
		y[i] = float32(i % 2)
		fmt.Fprintf(&sparse, "%d", i%2)
		for j := range readFeatures {
			v := float32(values.Normal())
			x[i*readFeatures+j] = v
			fmt.Fprintf(&csv, "%.6g,", v)
			fmt.Fprintf(&sparse, " %d:%.6g", j+1, v)
		}
		fmt.Fprintf(&csv, "%d\n", i%2)
		sparse.WriteByte('\n')
	}
	err := numpy.WriteArchive(&packed, []numpy.Array{
		{Name: "x", Shape: []int{rows, readFeatures}, Values: x}, {Name: "y", Shape: []int{rows}, Values: y},
	})
	for name, content := range map[string]*bytes.Buffer{csvFile: &csv, sparseFile: &sparse, arrayFile: &packed} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), content.Bytes(), 0o666))
	}
	return err
}
