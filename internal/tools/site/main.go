// Command site makes the web site of the project: the README, the guides below docs, the planner, the
// committed results, and their report. The files work from a folder, without a server,
// scripts or a network:
//
//	make site
//
// A link to a file that does not exist is an error. The tests follow every link of the whole site, also to
// headings. Links to other hosts are parsed, but not requested.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"proactivedp/internal/bounded"
	"proactivedp/internal/tools/checkout"
	"proactivedp/internal/version"
	"proactivedp/web"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	out := flag.String("out", "out/site", "folder to write; a site of an earlier call is replaced")
	planner := flag.String("planner", "", "planner page, made by proactivedp page; default: compile it")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "site: argument %q, must be none\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(context.Background(), *root, *out, *planner, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
}

// maxPlanner is the largest size of the planner's file, in bytes.
const maxPlanner = 64 << 20

func run(ctx context.Context, root, out, planner string, say io.Writer) error {
	begun := time.Now()
	if err := checkPlace(out); err != nil {
		return err
	}
	page, err := plannerPage(ctx, root, planner)
	if err != nil {
		return err
	}
	tree, err := checkout.Read(root)
	if err != nil {
		return err
	}
	files, err := made(tree, filepath.Join(root, "results"), page)
	if err != nil {
		return err
	}
	if err := place(files, out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(say, "%s: %d files in %.1f s\n", filepath.Join(out, home), len(files), time.Since(begun).Seconds())
	return err
}

func plannerPage(ctx context.Context, root, file string) ([]byte, error) {
	if file != "" {
		page, err := bounded.File(file, maxPlanner)
		if err == nil && web.PageVersion(page) == "" {
			err = fmt.Errorf("%s is not a page that proactivedp page has written", file)
		}
		return page, err
	}
	folder, err := web.Source(ctx, root)
	if err != nil {
		return nil, err
	}
	planner, err := web.Compile(ctx, folder, version.Get().Source())
	if err != nil {
		return nil, err
	}
	return web.Page(planner)
}

// checkPlace refuses a folder with files that this command did not write.
func checkPlace(out string) error {
	entries, err := os.ReadDir(out)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := bounded.File(filepath.Join(out, home), maxPlanner)
	if err != nil || !ours(text) {
		return fmt.Errorf("out = %q has files that are not of a site, must be a new folder, an empty one or an "+
			"older site", out)
	}
	return nil
}

// place writes the files next to the folder and then replaces the folder.
func place(files checkout.Tree, out string) error {
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(out)), 0o777); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(filepath.Clean(out)), ".site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	whole := filepath.Join(made, "site") // with the usual mode of a new folder
	if err := files.Write(whole); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(whole, out)
}
