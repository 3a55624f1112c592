//go:build unix

// Command mutants tests the tests. It plants small faults in the source, one line and one fault at a time,
// and runs the tests, which must then fail.
//
//	go run ./internal/tools/mutants
//
// The list of faults is a JSON file. The list whole.json has faults of the whole module; its note names
// the revision from which they were drawn.
//
//	go run ./internal/tools/mutants -faults internal/tools/mutants/whole.json
//
// The source is not changed: the go command's -overlay replaces the file by the faulty one. For each
// fault, mutants runs the test that the list names, or else all tests of its package. If they do not find
// the fault, it has survived, and the exit status is 1. Some faults cannot be found by any test, because
// nothing observable changes. They stay in the list with the reason, and are not run.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

const exitWrong = 2

func main() {
	var r replay
	dir := flag.String("dir", ".", "folder of the module")
	file := flag.String("faults", "internal/tools/mutants/faults.json", "list of faults")
	flag.StringVar(&r.only, "only", "", "replay only faults whose package or name contains this")
	flag.DurationVar(&r.limit, "limit", 2*time.Minute,
		"time limit for the tests of one package; it finds faults that make tests hang")
	flag.Parse()
	if flag.NArg() > 0 || r.limit <= 0 {
		fmt.Fprintln(os.Stderr, "mutants: takes no arguments but its flags; -limit must be above 0")
		os.Exit(exitWrong)
	}
	r.out, r.dir, r.file = os.Stdout, *dir, *file
	if err := r.run(); err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}
