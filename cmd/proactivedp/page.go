package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/files"
	"proactivedp/internal/version"
	"proactivedp/web"
)

func newPage() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Write the planner as a web page: one file that works offline",
		Long: `Write the planner as one HTML file: questions, answers, charts and code for other
libraries, computed in the browser. It works from a file, without a network and without
this program, and sends nothing anywhere.

The planner in it is this program's, as WebAssembly. A program that was built by make, or
that is a release, contains the page and writes it in any folder. Other builds compile it,
which needs Go and a copy of the repository.`,
		Example: "  proactivedp page --out planner.html",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return cli.Usage(errors.New("--out is missing: give the file that the page is written to"))
			}
			if err := files.Check(out); err != nil {
				return err
			}
			page, from, err := makePage(cmd.Context())
			if err != nil {
				return err
			}
			write := func(w io.Writer) error {
				_, err := w.Write(page)
				return err
			}
			if err := files.Write(out, write); err != nil {
				return err
			}
			cli.Say(cmd, "%s: %d bytes, %s", out, len(page), from)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` that the page is written to")
	return cmd
}

// own returns the page inside the program, or nil if there is none or it was made from another source.
func own(page []byte, build version.Info) []byte {
	if of := web.PageVersion(page); of != "" && (of == build.Source() || of == build.Version) {
		return page
	}
	return nil
}

// makePage returns the page and says where it comes from.
func makePage(ctx context.Context) (page []byte, from string, err error) {
	build := version.Get()
	if page := own(web.Made(), build); page != nil {
		return page, "from this program", nil
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, "", err
	}
	folder, err := web.Source(ctx, here)
	if err != nil {
		return nil, "", fmt.Errorf("%w, and this program was built without the page: make build, make install and "+
			"releases include it", err)
	}
	planner, err := web.Compile(ctx, folder, build.Source())
	if err != nil {
		return nil, "", err
	}
	page, err = web.Page(planner)
	return page, "compiled from " + folder, err
}
