package papertables_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"proactivedp/dp/closedform"
	"proactivedp/internal/papertables"
)

// The closed form certifies what it covers; package pld is the accountant that
// covers everything in the tables.
func ExampleMake() {
	dir, err := os.MkdirTemp("", "tables")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	err = papertables.Make(context.Background(), papertables.Options{Out: dir, Accountant: closedform.Accountant{},
		Workers: 2})
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
	// README.md
	// epsilon-over-s-10000.png
	// epsilon-over-s-50000.png
	// epsilon-over-s-60000.png
	// epsilon-over-s.csv
	// manifest.json
	// tables.csv
	// tables.md
}
