package table_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"proactivedp/data"
	"proactivedp/data/table"
)

// Which labels there are is said, and not found in the file.
func Example() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mail.csv")
	if err := os.WriteFile(path, []byte("length,links,kind\n120,0,ham\n80,7,spam\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	labels, err := data.ParseLabels("ham,spam")
	if err != nil {
		log.Fatal(err)
	}
	d, err := table.ParseFile(path, table.Options{Label: "kind", Labels: labels})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Columns, d.Label, d.LabelCounts())
	// Output: [length links] [0 1] [1 1]
}
