// Command release builds the command line for all platforms:
//
//	make release VERSION=v1.2.3
//
// with the planner as a page beside them. The programs are static, their bytes depend on
// the commit, the version and the Go toolchain alone, and SHA256SUMS lists their digests.
// Every program is built twice, in two folders and with two caches, and both must be the
// same bytes; the page is made twice from two folders.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	version := flag.String("version", "", "version, such as v1.2.3 or v1.3.0-rc.1")
	out := flag.String("out", "out/release", "folder that is given a folder of the version's name")
	flag.Parse()
	if err := run(".", *out, *version, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}
