package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
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

// writeManual writes the manual pages of cmd and of the commands below it.
func writeManual(cmd *cobra.Command, folder string) error {
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeManual(c, folder); err != nil {
			return err
		}
	}
	path := filepath.Join(folder, pageName(cmd)+".1")
	return files.Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, page(cmd))
		return err
	})
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page returns the manual page of a command, in the language of troff with the macros of man.
func page(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	name := pageName(cmd)
	out := ".TH " + strings.ToUpper(name) + ` 1 "" "proactivedp ` + version.Get().Version + "\" ProactiveDP\n.nh\n" +
		".SH NAME\n" + name + ` \- ` + troff(cmd.Short) + "\n.SH SYNOPSIS\n.B " + troff(cmd.UseLine()) + "\n.SH DESCRIPTION\n"
	for part := range strings.SplitSeq(cmp.Or(cmd.Long, cmd.Short), "\n\n") {
		if strings.HasPrefix(part, "  ") { // a table
			out += ".PP\n.nf\n" + troff(part) + "\n.fi\n"
		} else {
			out += ".PP\n" + troff(part) + "\n"
		}
	}
	out += ".SH OPTIONS\n"
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		switch {
		case f.Deprecated != "" || f.Hidden:
			return
		case f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" && f.DefValue != "[]":
			usage += " (default " + f.DefValue + ")"
		}
		out += ".TP\n.BI --" + f.Name + ` " ` + troff(value) + "\"\n" + troff(usage) + "\n"
	})
	if cmd.Example != "" {
		out += ".SH EXAMPLES\n.nf\n" + troff(cmd.Example) + "\n.fi\n"
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, pageName(cmd.Parent())+"(1)")
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			others = append(others, pageName(c)+"(1)")
		}
	}
	return out + ".SH SEE ALSO\n" + strings.Join(others, ", ") + "\n"
}

// troff writes a text so that troff prints it as it is.
func troff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			out.WriteString(`\&`) // or it would be a request
		}
		out.WriteString(line)
	}
	return out.String()
}
