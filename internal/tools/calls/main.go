// Command calls shows how the calls of a package run between its files: in which
// order of the files most of them run down, and which run up against it.
//
//	go run ./internal/tools/calls ./sim ./experiments
//	go run ./internal/tools/calls -dir ../other/checkout -up 20 ./sim
//
// A call is every place that names a function or a method of another file of the
// same package, whether it is called there or handed on as a value; a method of an
// interface is of the file that declares the interface. Types, constants and
// variables are what the calls speak of: they count with -uses alone. Test files and
// files for other machines never do.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	dir := flag.String("dir", ".", "folder of the module whose packages are read")
	up := flag.Int("up", 10, "how many pairs of files with calls against the order are listed")
	uses := flag.Bool("uses", false,
		"count the places that name a type, a constant or a variable of another file as well")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "calls: no package named, for instance ./sim")
		os.Exit(2)
	}
	if err := run(os.Stdout, *dir, flag.Args(), *uses, *up); err != nil {
		fmt.Fprintf(os.Stderr, "calls: %v\n", err)
		os.Exit(1)
	}
}

// run prints what is known of each package that the patterns name.
func run(w io.Writer, dir string, patterns []string, uses bool, up int) error {
	all, err := load(dir, patterns, uses)
	if err != nil {
		return err
	}
	for _, g := range all {
		order := g.order()
		against := g.against(order)
		fmt.Fprintf(w, "%s: %d files, %d calls between files, %d against the order\n", g.name, len(g.files), g.total(),
			sum(against))
		for _, f := range order {
			fmt.Fprintf(w, "  %s\n", g.files[f])
		}
		if len(against) > 0 && up > 0 {
			fmt.Fprintln(w, "against the order, most first (calls: from -> to: what):")
		}
		for _, p := range against[:min(up, len(against))] {
			fmt.Fprintf(w, "  %3d: %s -> %s:%s\n", p.calls, g.files[p.from], g.files[p.to], g.called(p.from, p.to))
		}
	}
	return nil
}
