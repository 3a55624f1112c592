// Command fuzz fuzzes every target of the module for a time each, one after the other,
// and stops at the first that fails.
//
//	go run ./internal/tools/fuzz -time 10s
//
// Up to Go 1.26 a target sometimes fails with nothing but "context deadline exceeded" when
// its time is over (golang/go#75804, mended in Go 1.27): the go command then takes the end
// of the time for a failure of the target. Such a run found nothing, so it is made again.
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
	each := flag.Duration("time", 10*time.Second, "time of each target")
	only := flag.String("only", "", "only targets whose package or name has this in it")
	flag.Parse()
	if flag.NArg() > 0 || *each <= 0 {
		fmt.Fprintf(os.Stderr, "fuzz: -time = %v, must be above 0, and no arguments may follow, got %q\n",
			*each, flag.Args())
		os.Exit(exitWrong)
	}
	targets, err := list(".", *only)
	if err == nil {
		err = fuzz(targets, *each, goTest, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}
