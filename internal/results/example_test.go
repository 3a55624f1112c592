package results_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"proactivedp/internal/results"
)

// A picture with its data: whatever is wrong, the folder has all of it or nothing.
func ExampleWriteFiles() {
	dir, err := os.MkdirTemp("", "figure")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	picture := func(w io.Writer) error {
		_, err := io.WriteString(w, "<svg/>")
		return err
	}
	table := [][]string{{"sigma", "accuracy"}, {"2", "0.9"}}
	err = results.WriteFiles(dir, map[string]func(io.Writer) error{"figure.svg": picture}, table,
		results.Manifest{Title: "Accuracy over σ", Seeds: 1})
	if err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range files {
		fmt.Println(filepath.Base(file))
	}
	// Output:
	// data.csv
	// figure.svg
	// manifest.json
}
