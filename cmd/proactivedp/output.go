package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/internal/atomicfile"
)

// outputFlags says in what form an answer is printed.
type outputFlags struct{ json, statement bool }

// add gives cmd the flags --json and --statement.
func (o *outputFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.statement, "statement", false,
		"print only the privacy statement, ready to paste into a paper")
}

func (o *outputFlags) check() error {
	if o.json && o.statement {
		return errors.New("--json and --statement contradict each other: give one (JSON has a key \"statement\")")
	}
	return nil
}

// print writes an answer to stdout, in the form asked for.
func (o *outputFlags) print(cmd *cobra.Command, statement string, answer any, text func(io.Writer) error) error {
	w := cmd.OutOrStdout()
	switch {
	case o.json:
		return printJSON(w, answer)
	case o.statement:
		_, err := fmt.Fprintln(w, statement)
		return err
	}
	return text(w)
}

// printJSON writes v to stdout, indented.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// oneLine returns what err says on one line, for a table or a JSON value.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// fileFlags names the files that a table of numbers is written to.
type fileFlags struct{ csv, png string }

// add gives cmd the flags --csv and --png.
func (f *fileFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.csv, "csv", "", "write "+what+" to this `file`, as CSV")
	cmd.Flags().StringVar(&f.png, "png", "", "write "+what+" to this `file`, as a PNG picture")
}

// check refuses files without a name.
func (f *fileFlags) check(cmd *cobra.Command) error {
	errs := []error{refuseNoFile(cmd, "csv", "png")}
	if f.csv != "" && filepath.Clean(f.csv) == filepath.Clean(f.png) {
		errs = append(errs, fmt.Errorf("--csv and --png are both %q, must be two files", f.csv))
	}
	return errors.Join(errs...)
}

// writable reports files that cannot be written, before there is anything to write.
func (f *fileFlags) writable() error {
	var errs []error
	for _, path := range []string{f.csv, f.png} {
		if path != "" {
			errs = append(errs, atomicfile.Check(path))
		}
	}
	return errors.Join(errs...)
}

// write writes the files that were named, each as a whole.
func (f *fileFlags) write(csv, png func(io.Writer) error) error {
	for _, file := range []struct {
		path string
		fill func(io.Writer) error
	}{{f.csv, csv}, {f.png, png}} {
		if file.path == "" {
			continue
		}
		if err := atomicfile.Write(file.path, file.fill); err != nil {
			return err
		}
	}
	return nil
}
