package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/files"
	"proactivedp/internal/version"
)

func newMan() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "man",
		Short: "Write the manual pages, one for each command",
		Long: `Write the manual pages of proactivedp and of its commands to a folder, as
proactivedp.1, proactivedp-plan.1 and so on, made from the same texts as --help.`,
		Example: "  proactivedp man --out man/man1",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := os.MkdirAll(out, 0o777); err != nil {
				return err
			}
			return writeManual(newRoot(), out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "man", "`folder` to write to")
	return cmd
}

// writeManual writes the manual pages of cmd and of the commands below it. It first converts their
// texts to Markdown, from which the pages are made.
func writeManual(cmd *cobra.Command, folder string) error {
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeManual(c, folder); err != nil {
			return err
		}
	}
	cmd.InitDefaultHelpFlag()
	cmd.Long = markdown(cmd.Long)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		f.Usage = escaped.Replace(usage)
	})
	cmd.DisableAutoGenTag = true
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	header := &doc.GenManHeader{
		Title: strings.ToUpper(name), Section: "1",
		Source: "proactivedp " + version.Get().Version, Manual: "ProactiveDP",
	}
	path := filepath.Join(folder, name+".1")
	return files.Write(path, func(w io.Writer) error { return doc.GenMan(cmd, header, w) })
}

// escaped escapes characters that Markdown would read as markup.
var escaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`)

// markdown converts the text of a help to Markdown. Tables, which are indented, stay unchanged.
func markdown(text string) string {
	var out strings.Builder
	inTable := false
	for line := range strings.Lines(text) {
		table := strings.HasPrefix(line, "  ")
		if table != inTable {
			out.WriteString("\n")
		}
		inTable = table
		if table {
			out.WriteString("    " + line)
		} else {
			out.WriteString(escaped.Replace(line))
		}
	}
	return out.String()
}
