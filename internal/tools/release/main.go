// Command release builds the program for all platforms, and the planner page:
//
//	make release VERSION=v1.2.3
//
// The programs are static. Their bytes depend only on the commit, the version and the Go toolchain.
// SHA256SUMS lists their digests. Every program is built twice, in two folders and with two caches,
// and both must have the same bytes. The page is made twice, from two folders.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	version := flag.String("version", "", "version, such as v1.2.3 or v1.3.0-rc.1")
	out := flag.String("out", "out/release", "folder in which a folder with the version's name is created")
	python := flag.Bool("wheels", false, "build wheels of the Python package into -out; -version may be empty")
	only := flag.Bool("host", false, "with -wheels, only for this machine")
	flag.Parse()
	build := func() error { return run(".", *out, *version, os.Stdout) }
	if *python {
		platforms := targets
		if *only {
			platforms = []target{host()}
		}
		build = func() error { return wheels(".", *out, *version, platforms, os.Stdout) }
	}
	if err := build(); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}
