package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/files"
	"proactivedp/internal/results"
)

func newReport() *cobra.Command {
	out := ""
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Make one page of a folder of results: figures, data, verdicts, origins",
		Long: `Make one HTML page of a folder of results, such as figures --out writes. It has every
figure with its final accuracies, data, command, digests, revision and privacy statements,
the paper's claims with verdicts, and the pages of searches, audits, measurements and
tables. It is a single file that works offline and can be printed. Symbolic links in the
folder are not followed.`,
		Example: "  proactivedp report results --out report.html",
		Args:    cli.OneArg("a folder of results"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind := strings.ToLower(filepath.Ext(out)); slices.Contains(results.Kinds(), kind) {
				return cli.Usage(fmt.Errorf("--out = %s, must not end in %s, as files of results do", out, kind))
			}
			page, err := results.ReadPage(args[0])
			if err != nil {
				return err
			}
			if err := files.Write(out, page.Write); err != nil {
				return err
			}
			cli.Say(cmd, "report in %s", out)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "report.html", "`file` to write")
	return cmd
}
