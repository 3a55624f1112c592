package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	filesystem "proactivedp/internal/files"
	"proactivedp/internal/message"
	"proactivedp/plan/libraries"
)

// OutputFlags are the flags that choose the form of an answer: --json, --statement and --format.
type OutputFlags struct {
	json, statement bool
	Format          string // "", "json", or one of package libraries
}

// FormatNames returns the values that the flag --format accepts.
func FormatNames() []string {
	return append([]string{jsonFormat}, Names(append(libraries.Formats(), libraries.Records()...))...)
}

const jsonFormat = "json"

func (o *OutputFlags) AddFormat(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Format, "format", "", "print what is run for another program: opacus, tf-privacy, "+
		"jax-privacy or flower (ready code with its caveats), the first three with -short (lines for a training that keeps its "+
		"optimizer), dp-accounting (an event) or opacus-history (the state of an accountant), latex, or json, which is --json")
}

// Add adds the flags --json and --statement to cmd.
func (o *OutputFlags) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, jsonFlag, false, jsonUsage)
	cmd.Flags().BoolVar(&o.statement, "statement", false,
		"print only the privacy statement, ready to paste into a paper")
}

// Check returns an error if two of the flags contradict each other, or if the format is unknown.
func (o *OutputFlags) Check() error {
	var errs []error
	if o.json && o.statement {
		errs = append(errs, errors.New("--json and --statement contradict each other: give one (JSON has a key "+
			"\"statement\")"))
	}
	if o.Format != "" && o.statement || o.Format != "" && o.Format != jsonFormat && o.json {
		errs = append(errs, errors.New("--format contradicts --json and --statement: give one"))
	}
	if names := FormatNames(); o.Format != "" && !slices.Contains(names, o.Format) {
		errs = append(errs, fmt.Errorf("--format = %q, must be one of %s%s", o.Format, strings.Join(names, ", "),
			message.Meant(o.Format, names)))
	}
	return errors.Join(errs...)
}

func (o *OutputFlags) IsCode() bool { return o.Format != "" && o.Format != jsonFormat }

func (o *OutputFlags) PrintCode(cmd *cobra.Command, release libraries.Release, err error) error {
	if err != nil {
		return err
	}
	code, err := libraries.Write(libraries.Format(o.Format), release)
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), code.Text)
	return err
}

// Print prints an answer to stdout in the requested form: the statement, answer as JSON, or text.
func (o *OutputFlags) Print(cmd *cobra.Command, statement string, answer any, text func(io.Writer) error) error {
	switch {
	case o.json || o.Format == jsonFormat:
		return PrintJSON(cmd, answer)
	case o.statement:
		_, err := fmt.Fprintln(cmd.OutOrStdout(), statement)
		return err
	}
	return text(cmd.OutOrStdout())
}

const jsonFlag, jsonUsage = "json", "print JSON"

// AddJSON adds the flag --json to f. Report looks at it.
func AddJSON(f *pflag.FlagSet) { f.Bool(jsonFlag, false, jsonUsage) }

// AsJSON reports whether the flag --json was given.
func AsJSON(cmd *cobra.Command) bool { return isOn(cmd, jsonFlag) }

func isOn(cmd *cobra.Command, flag string) bool {
	on, err := cmd.Flags().GetBool(flag)
	return err == nil && on // the command may not have the flag
}

// AddStatement adds the flag --statement to f. Report looks at it.
func AddStatement(f *pflag.FlagSet) {
	f.Bool("statement", false, "print only the privacy statement, in full")
}

// CheckForm returns an error if both --json and --statement are given, because a command prints its answer in only
// one form.
func CheckForm(cmd *cobra.Command) error {
	if cmd.Flags().Changed("json") && cmd.Flags().Changed("statement") {
		return Usage(errors.New("--json and --statement contradict each other: give one (JSON has the key \"privacy\")"))
	}
	return nil
}

// Report prints a report to stdout: as JSON if the flag --json was given, only its privacy statement if the flag
// --statement was given, and otherwise as text.
func Report(cmd *cobra.Command, r interface{ WriteText(w io.Writer) error }) error {
	if AsJSON(cmd) {
		return PrintJSON(cmd, r)
	}
	if isOn(cmd, "statement") {
		stated, ok := r.(interface{ WriteStatement(w io.Writer) error })
		if !ok {
			return errors.New("--statement = true, must not be given here: this report has no privacy statement")
		}
		return stated.WriteStatement(cmd.OutOrStdout())
	}
	return r.WriteText(cmd.OutOrStdout())
}

// Say prints a message to stderr, for the person who runs the command.
func Say(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "proactivedp: "+format+"\n", args...)
}

func PrintJSON(cmd *cobra.Command, v any) error {
	if err := filesystem.JSON(v)(cmd.OutOrStdout()); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
