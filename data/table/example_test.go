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
	fmt.Println(d.Columns, d.Label, d.All().ClassCounts())
	// Output: [length links] [0 1] [1 1]
}

// What columns hold that are no numbers is said, too: a sex becomes two features, and a weight
// that is missing is 75.
func ExampleParseColumns() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "clinic.csv")
	if err := os.WriteFile(path, []byte("id,sex,weight,back\nx1,F,60,no\nx2,M,,yes\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	columns, err := table.ParseColumns("column,kind,values\nid,ignored,\nsex,one-of,F|M\nweight,number,75\n")
	if err != nil {
		log.Fatal(err)
	}
	labels, err := data.ParseLabels("no,yes")
	if err != nil {
		log.Fatal(err)
	}
	d, err := table.ParseFile(path, table.Options{Label: "back", Labels: labels, Columns: columns})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Columns, d.Row(0).Value, d.Row(1).Value)
	// Output: [sex=F sex=M weight] [1 0 60] [0 1 75]
}
