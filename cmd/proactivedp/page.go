package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/version"
	"proactivedp/web"
)

// pageName is the name of the page in a release, where it lies beside the program.
const pageName = "planner.html"

// maxPage is how large a page of a release may be.
const maxPage = 64 << 20

func newPage() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "page",
		Short: "Write the planner as a page: one file that works offline",
		Long: `Write the planner as one HTML file: questions, answers, charts and code for other
libraries, computed in the browser. It works from a file, without a network and without
this program, and sends nothing anywhere.

The planner in it is this program's, as WebAssembly. In a copy of the repository with Go
installed it is compiled. A release has the page ready, as ` + pageName + ` next to the
program, and it is copied from there.`,
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
			fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: %s: %d bytes, %s\n", out, len(page), from)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` that the page is written to")
	return cmd
}

// readyPage returns the page that lies beside the program, and where; nil if there is none
// of this very build. A build from a changed checkout shares its name with others.
func readyPage(folder string, build version.Info) (path string, page []byte) {
	path = filepath.Join(folder, pageName)
	text, err := bounded.File(path, maxPage)
	if err != nil {
		return "", nil
	}
	switch of := web.PageVersion(text); {
	case of == build.Version && strings.HasPrefix(of, "v") && !strings.HasSuffix(of, "+dirty"):
		return path, text // of a release
	case of == build.Revision && of != "" && !build.Modified:
		return path, text
	}
	return "", nil
}

// makePage returns the page, and where its planner is from.
func makePage(ctx context.Context) (page []byte, from string, err error) {
	if program, err := os.Executable(); err == nil {
		if beside, ready := readyPage(filepath.Dir(program), version.Get()); ready != nil {
			return ready, "copied from " + beside, nil
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, "", err
	}
	folder, err := web.Source(ctx, here)
	if err != nil {
		return nil, "", fmt.Errorf("%w; a release has %s of the same version beside the program", err, pageName)
	}
	planner, err := web.Compile(ctx, folder, version.Get().Source())
	if err != nil {
		return nil, "", err
	}
	page, err = web.Page(planner)
	return page, "compiled from " + folder, err
}
