//go:build unix

// Command mutants tests the tests: it plants faults of one line in the source, one at a time, and
// runs the tests, which must fail.
//
//	go run ./internal/tools/mutants              replay the faults of faults.json
//	go run ./internal/tools/mutants -draw 96     draw new faults from the source, with -seed
//
// whole.json has 60 faults of the whole module, which the tests of the same package must find. Its
// note names the revision from which they were drawn.
//
//	go run ./internal/tools/mutants -faults internal/tools/mutants/whole.json -near 0
//	go run ./internal/tools/mutants -faults internal/tools/mutants/whole.json -draw 60 -whole -seed 36
//
// The source is not changed: the go command's -overlay replaces the file by the faulty one. First
// the tests of the package with the fault run, then those of the packages that import it, the
// nearest first, until one fails. A fault that no test finds has survived; then the exit status is
// 1. A fault that no test can find, because nothing observable changes, stays in the list with the
// reason, and is not replayed.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// exitWrong is the exit status for wrong arguments.
const exitWrong = 2

func main() {
	var r replay
	dir := flag.String("dir", ".", "folder of the module")
	file := flag.String("faults", "internal/tools/mutants/faults.json", "list of faults")
	draw := flag.Int("draw", 0, "draw that many faults, write a new list, and replay nothing")
	seed := flag.Uint64("seed", 1, "seed of the draw")
	whole := flag.Bool("whole", false, "draw from the whole module, not from the listed packages")
	flag.StringVar(&r.only, "only", "", "replay only faults whose package or name contains this")
	flag.IntVar(&r.near, "near", -1, "run only tests at most that many imports away from the fault; -1 means any number")
	flag.DurationVar(&r.limit, "limit", 2*time.Minute,
		"time limit for the tests of one package; it finds faults that make tests hang")
	flag.BoolVar(&r.record, "record", false, "write to the list which test found each fault")
	flag.Parse()
	if flag.NArg() > 0 || *draw < 0 || r.limit <= 0 {
		fmt.Fprintln(os.Stderr, "mutants: takes no arguments but its flags; -draw must be at least 0, -limit above 0")
		os.Exit(exitWrong)
	}
	var err error
	switch {
	case *draw > 0 && *whole:
		err = drawWhole(*file, *dir, *seed, *draw)
	case *draw > 0:
		err = drawTo(*file, *dir, *seed, *draw)
	default:
		r.out, r.dir, r.file = os.Stdout, *dir, *file
		err = r.run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutants: %v\n", err)
		os.Exit(1)
	}
}
