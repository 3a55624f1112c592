package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/internal/atomicfile"
	"proactivedp/internal/nearest"
	"proactivedp/plan/libraries"
)

// outputFlags says in what form an answer is printed.
type outputFlags struct {
	json, statement bool
	format          string // "", "json", or one of package libraries
}

// formatNames are the values of --format.
func formatNames() []string {
	names := []string{jsonFormat}
	for _, f := range libraries.Formats() {
		names = append(names, string(f))
	}
	return names
}

const jsonFormat = "json"

// addFormat gives cmd the flag --format.
func (o *outputFlags) addFormat(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.format, "format", "", "print what is run for another program: opacus, tf-privacy, "+
		"jax-privacy "+
		"or flower (ready code with its caveats), latex, or json, which is --json")
}

// add gives cmd the flags --json and --statement.
func (o *outputFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.statement, "statement", false,
		"print only the privacy statement, ready to paste into a paper")
}

func (o *outputFlags) check() error {
	var errs []error
	if o.json && o.statement {
		errs = append(errs, errors.New("--json and --statement contradict each other: give one (JSON has a key "+
			"\"statement\")"))
	}
	if o.format != "" && o.statement || o.format != "" && o.format != jsonFormat && o.json {
		errs = append(errs, errors.New("--format contradicts --json and --statement: give one"))
	}
	if names := formatNames(); o.format != "" && !slices.Contains(names, o.format) {
		errs = append(errs, fmt.Errorf("--format = %q, must be one of %s%s", o.format, strings.Join(names, ", "),
			meant(nearest.Name(o.format, names))))
	}
	return errors.Join(errs...)
}

// isCode reports whether code is to be printed.
func (o *outputFlags) isCode() bool { return o.format != "" && o.format != jsonFormat }

// printCode writes the release in the format asked for.
func (o *outputFlags) printCode(cmd *cobra.Command, release libraries.Release, err error) error {
	if err != nil {
		return err
	}
	code, err := libraries.Write(libraries.Format(o.format), release)
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), code.Text)
	return err
}

// print writes an answer to stdout, in the form asked for.
func (o *outputFlags) print(cmd *cobra.Command, statement string, answer any, text func(io.Writer) error) error {
	w := cmd.OutOrStdout()
	switch {
	case o.json, o.format == jsonFormat:
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
