// Command rename gives the module of this repository, and those nested in it,
// another path: in imports, go.mod files, comments, documents, linker flags and
// build overlays. The module has no public home; who gives it one runs
//
//	make rename MODULE=host/you/proactivedp
//
// once, and others can then require it and install its commands. What is not
// the module's path stays: the program's name, and the strings that separate
// the domains of random streams, so that results are the same bits.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	to := flag.String("module", "", "the new path, such as example.org/you/proactivedp")
	dir := flag.String("dir", ".", "folder of the module")
	flag.Parse()
	changed, err := rename(*dir, *to)
	if err != nil {
		fmt.Fprintf(os.Stderr, "rename: %v\n", err)
		os.Exit(1)
	}
	for _, name := range changed {
		fmt.Println(name)
	}
	fmt.Printf("%d files changed; the module is %s\n", len(changed), *to)
}
