package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/f32"
	"proactivedp/internal/version"
)

// build describes the program for the command version, as JSON too.
type build struct {
	version.Info
	Kernels string `json:"kernels"` // the class of the float32 kernels in use
}

func newBuild() build { return build{version.Get(), f32.Kernels().String()} }

func (b build) WriteText(w io.Writer) error {
	revision := b.Revision
	if revision == "" {
		revision = "not recorded by the build"
	}
	if b.Modified {
		revision += ", with changes"
	}
	_, err := fmt.Fprintf(w, "proactivedp %s\nrevision    %s\ngo          %s %s/%s\nkernels     %s\n",
		b.Version, revision, b.Go, b.OS, b.Arch, b.Kernels)
	return err
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, revision, Go and kernels",
		Long: `version prints the version and the revision that this program was built from, the
version of Go, the platform of the build, and the class of its kernels on this machine
(amx, avx512, avx2, neon or portable). The flag --version prints the same text.`,
		Example: `  proactivedp version
  proactivedp version --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Report(cmd, newBuild())
		},
	}
	cli.AddJSON(cmd.Flags())
	return cmd
}
