package main

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"proactivedp/internal/testkit"
)

// writeArrays is "npz FILE CSV LABEL [TEST]": writes the archive that NumPy would of the columns
// of a CSV file, the numbers as x and the column LABEL as texts y, or of two files of a training
// and a test set x_train, y_train, x_test and y_test, deflated. Without a LABEL, "", it has x
// alone.
func writeArrays(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: npz FILE CSV LABEL [TEST]")
	}
	var members []testkit.Member
	ends := []string{""}
	if len(args) == 4 {
		ends = []string{"_train", "_test"}
	}
	for i, end := range ends {
		file := args[1]
		if i > 0 {
			file = args[3]
		}
		x, y := arraysOf(ts, file, args[2])
		members = append(members, testkit.Member{Name: "x" + end, Content: x.Bytes()})
		if args[2] != "" {
			members = append(members, testkit.Member{Name: "y" + end, Content: y.Bytes()})
		}
	}
	file, err := testkit.Archive(len(ends) > 1, members...)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), file, 0o666))
}

// arraysOf returns the numbers and the labels of a CSV file.
func arraysOf(ts *testscript.TestScript, file, label string) (x, y testkit.Array) {
	lines, err := csv.NewReader(strings.NewReader(ts.ReadFile(file))).ReadAll()
	ts.Check(err)
	at := slices.Index(lines[0], label)
	var numbers []float64
	var labels []string
	for _, line := range lines[1:] {
		for j, field := range line {
			if j == at {
				labels = append(labels, field)
				continue
			}
			v, err := strconv.ParseFloat(field, 64)
			ts.Check(err)
			numbers = append(numbers, v)
		}
	}
	rows := len(lines) - 1
	return testkit.Of("<f8", []int{rows, len(numbers) / rows}, numbers...), testkit.Texts(10, labels...)
}
