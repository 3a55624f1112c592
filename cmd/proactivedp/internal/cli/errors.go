// Package cli has what the program's commands share: flags for the data, the training and the output, parsers for
// their values, and the errors for invalid requests.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/internal/message"
)

// UsageError is an error of the command line: the request itself is invalid. The program then exits
// with status 2.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Usage marks err as a UsageError, so that the program exits with status 2. It returns nil if err is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

// FlagError returns an error of the flag parser in the words of this program, with a suggestion if a flag was
// probably misspelt.
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
	"data":                 {"n"}, // for commands that need no data
	"dataset-size":         {"n"},
	"num-examples":         {"n"},
	"records":              {"n"},
	"label":                {"label-column"},
	"target":               {"label-column"},
	"target-column":        {"label-column"},
	"labels":               {"label-map"},
	"classes":              {"label-map"},
	"accuracy":             {"target-accuracy"},
	"num-clients":          {"clients"},
	"steps":                {"grad-computations"},
	"epochs":               {"steps", "grad-computations"},
	"num-epochs":           {"epochs", "grad-computations"},
	"num-steps":            {"steps", "grad-computations"},
	"target-epsilon":       {"noise-multiplier"}, // for commands that train with a given noise
}

// likeFlag returns the flag of a command that a word probably means, or "". It tries in this order:
// a name of other libraries; a flag spelled almost like the word; a name of other libraries spelled
// almost like it, if the word has two thirds of its length. sure says that it is one of the first two.
func likeFlag(word string, names []string) (flag string, sure bool) {
	word = string(FieldName(nil, strings.ReplaceAll(strings.ToLower(word), "_", "-")))
	if name := cmp.Or(abroad(word, names), message.Nearest(word, names)); name != "" {
		return name, true
	}
	if name := string(FieldName(nil, message.Nearest(word, slices.Sorted(maps.Keys(paperNames))))); slices.Contains(names, name) {
		return name, false
	}
	if like := message.Nearest(word, slices.Sorted(maps.Keys(elsewhere))); 3*len(word) >= 2*len(like) {
		return abroad(like, names), false
	}
	return "", false
}

// abroad returns the first of names that matches this word in other libraries, or "".
func abroad(word string, names []string) string {
	for _, name := range elsewhere[word] {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// unknownFlag returns an error that names the unknown flag and the flag that was probably meant. A
// name after a single dash is treated as if it had two.
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
	if word == atMostFlag && cmd.Flags().Lookup(personFlag) != nil {
		return personsRefused(cmd, word)
	}
	meant := ""
	name, sure := likeFlag(word, names)
	if others := owners(cmd, word); others != "" && !sure {
		return fmt.Errorf("unknown flag %s: it is for %s", given, others)
	}
	if name != "" {
		meant = ": did you mean --" + name + "?"
	}
	return fmt.Errorf("unknown flag %s%s", given, meant)
}

// owners returns the names of the commands that have a flag, at most three, or "". It returns train first.
func owners(cmd *cobra.Command, flag string) string {
	var all []string
	for _, c := range cmd.Root().Commands() {
		if f := c.Flags().Lookup(flag); f == nil || f.Hidden || !c.IsAvailableCommand() {
			continue
		}
		at := len(all)
		if c.Name() == "train" {
			at = 0
		}
		all = slices.Insert(all, at, c.Name())
	}
	if n := len(all); n > 3 {
		return strings.Join(all[:2], ", ") + " and other commands"
	} else if n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}

// NoArgs is the check of arguments for commands that take none: it returns an error if there are some. It also works
// for commands with subcommands.
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
		return Usage(fmt.Errorf("unknown command %q of %q%s", args[0], cmd.CommandPath(), message.Meant(args[0], names)))
	}
	like := ""
	if len(args) == 1 && cmd.Flags().Lookup("data") != nil {
		like = ": did you mean --data " + message.Word(args[0]) + "?"
	}
	return Usage(fmt.Errorf("%s takes no arguments, got %s%s", commandName(cmd), strings.Join(args, " "), like))
}

// OneArg returns the check of arguments for commands that take exactly one. what describes it in the error.
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

// Distinct joins errors and leaves out messages that occur twice. Use it to check several specs that
// differ in only one setting, such as the lines of a utility graph, because a mistake in a common setting
// would otherwise be reported for each of them.
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
