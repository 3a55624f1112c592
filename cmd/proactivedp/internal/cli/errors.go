// Package cli is what the commands of the program share: the flags that say which data,
// which training and which output, what values of flags look like, and how a request is
// refused.
package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/internal/message"
)

// UsageError marks an error of the command line.
type UsageError struct{ error }

// Unwrap returns what is wrong.
func (e UsageError) Unwrap() error { return e.error }

// Usage marks err, if there is one, as an error of the command line.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// Meant returns the question whether name was meant; "" for an empty name.
func Meant(name string) string {
	if name == "" {
		return ""
	}
	return ": did you mean " + name + "?"
}

// FlagError returns the error of the command line about a flag, in this program's words.
func FlagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return Usage(unknownFlag(cmd, unknown))
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return Usage(valueError(bad))
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return Usage(fmt.Errorf("--%s needs a value", FieldName(nil, bare.GetSpecifiedName())))
	}
	return Usage(err)
}

// elsewhere maps the names of other libraries and papers to flags of this program. A command
// suggests the first of these flags that it has.
var elsewhere = map[string][]string{
	"expected-batch-size":  {"batch-size"},
	"sampling-rate":        {"sample-rate"},
	"sampling-probability": {"sample-rate"},
	"batch":                {"batch-size"},
	"noise-scale":          {"noise-multiplier"},
	"noise":                {"noise-multiplier"},
	"eps":                  {"target-epsilon"},
	"privacy-budget":       {"target-epsilon"},
	"target-delta":         {"delta"},
	"clipping-norm":        {"max-grad-norm"},
	"l2-norm-clip":         {"max-grad-norm"},
	"lr":                   {"learning-rate"},
	"dataset":              {"data"},
	"file":                 {"data"},
	"csv":                  {"data"},
	"data":                 {"n"}, // of a command that needs no data
	"dataset-size":         {"n"},
	"num-examples":         {"n"},
	"records":              {"n"},
	"label":                {"label-column"},
	"labels":               {"label-map"},
	"classes":              {"label-map"},
	"accuracy":             {"target-accuracy"},
	"num-clients":          {"clients"},
	"steps":                {"grad-computations"},
	"epochs":               {"steps", "grad-computations"},
	"num-epochs":           {"epochs", "grad-computations"},
	"num-steps":            {"steps", "grad-computations"},
}

// likeFlag returns the flag of a command that a word probably means, or "". It tries in this order:
// a name of other libraries; a flag spelled almost like the word; a name of other libraries spelled
// almost like it, if the word has two thirds of its length.
func likeFlag(word string, names []string) string {
	word = string(FieldName(nil, strings.ReplaceAll(strings.ToLower(word), "_", "-")))
	if name := abroad(word, names); name != "" {
		return name
	}
	if name := message.Nearest(word, names); name != "" {
		return name
	}
	if name := string(FieldName(nil, message.Nearest(word, slices.Sorted(maps.Keys(paperNames))))); slices.Contains(names, name) {
		return name
	}
	if like := message.Nearest(word, slices.Sorted(maps.Keys(elsewhere))); 3*len(word) >= 2*len(like) {
		return abroad(like, names)
	}
	return ""
}

// abroad returns the first of the names that other libraries call by this word, or "".
func abroad(word string, names []string) string {
	for _, name := range elsewhere[word] {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// unknownFlag returns an error that names the unknown flag and the flag that was probably meant.
// It reads a name after one dash as after two.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	given, word := "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		given = "-" + short
		word, _, _ = strings.Cut(short, "=")
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	name := likeFlag(word, names)
	if name != "" {
		name = "--" + name
	}
	return fmt.Errorf("unknown flag %s%s", given, Meant(name))
}

// NoArgs refuses arguments, and names of commands that do not exist.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		like := Meant(message.Nearest(args[0], names))
		return Usage(fmt.Errorf("unknown command %q of %q%s", args[0], cmd.CommandPath(), like))
	}
	return Usage(fmt.Errorf("%s takes no arguments, got %s", commandName(cmd), strings.Join(args, " ")))
}

// OneArg asks for one argument; what describes it in the error.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage(fmt.Errorf("%s takes one argument, %s, got %d", commandName(cmd), what, len(args)))
		}
		return nil
	}
}

// commandName returns the name of a command, without the program's name.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// Distinct joins errors and keeps each message once. The lines of a utility graph, for example,
// differ in one setting and repeat all other messages.
func Distinct(errs []error) error {
	seen := map[string]bool{}
	var out []error
	for _, err := range errs {
		if err == nil {
			continue
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !seen[line] {
				seen[line] = true
				out = append(out, errors.New(line))
			}
		}
	}
	return errors.Join(out...)
}
