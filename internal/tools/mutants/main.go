//go:build unix

// Command mutants tests the tests: it plants faults of one line in the source, one
// at a time, and runs the tests, which must go red.
//
//	go run ./internal/tools/mutants              replay the faults of faults.json
//	go run ./internal/tools/mutants -draw 96     draw them anew from the source, by -seed
//
// whole.json holds 60 faults of the whole module, which the tests of their own packages catch. The
// revision that they were drawn from is in its note.
//
//	go run ./internal/tools/mutants -faults internal/tools/mutants/whole.json -near 0
//	go run ./internal/tools/mutants -faults internal/tools/mutants/whole.json -draw 60 -whole -seed 36
//
// The source is not touched: the faulty file takes the place of the true one by the
// go command's -overlay. The tests of the package with the fault run first, then
// those of the packages that rest on it, nearest first, until one goes red. A fault
// that none finds has survived; the exit status is then 1. A fault that no test can
// find, because nothing observable changes, stays in the list with the reason why,
// and is not replayed.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// exitWrong is the status of a wrong request.
const exitWrong = 2

func main() {
	var r replay
	dir := flag.String("dir", ".", "folder of the module")
	file := flag.String("faults", "internal/tools/mutants/faults.json", "list of faults")
	draw := flag.Int("draw", 0, "draw that many faults, write the list anew, and replay nothing")
	seed := flag.Uint64("seed", 1, "seed of the draw")
	whole := flag.Bool("whole", false, "draw from the whole module, not in the shares of the list")
	flag.StringVar(&r.only, "only", "", "replay only faults whose package or name has this in it")
	flag.IntVar(&r.near, "near", -1, "run tests at most that many imports away from the fault; -1 is any number")
	flag.DurationVar(&r.limit, "limit", 2*time.Minute,
		"time for the tests of one package; a fault that makes them hang is found by it")
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
