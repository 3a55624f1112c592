package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/internal/nearest"
)

// usageError marks an error of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage marks err, if there is one, as an error of the command line.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// meant returns the question whether name was meant, or "" if there is none.
func meant(name string) string {
	if name == "" {
		return ""
	}
	return ": did you mean " + name + "?"
}

// flagError says what is wrong with a flag as it was given.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return usage(unknownFlag(cmd, unknown))
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usage(valueError(bad))
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usage(fmt.Errorf("--%s needs a value", bare.GetSpecifiedName()))
	}
	return usage(err)
}

// unknownFlag names the flag that there is not, and the one that is written most
// like it. A name after one dash is taken for one after two.
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
	name := nearest.Name(word, names)
	if name != "" {
		name = "--" + name
	}
	return fmt.Errorf("unknown flag %s%s", given, meant(name))
}

// noArgs refuses arguments, and names of commands that do not exist.
func noArgs(cmd *cobra.Command, args []string) error {
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
		like := meant(nearest.Name(args[0], names))
		return usage(fmt.Errorf("unknown command %q of %q%s", args[0], cmd.CommandPath(), like))
	}
	return usage(fmt.Errorf("%s takes no arguments, got %s", commandName(cmd), strings.Join(args, " ")))
}

// commandName is the name of a command without that of the program.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// refuseUnknown makes the commands that cobra adds refuse what they do not know, as
// all others do.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, topic []string) error {
				found, rest, err := root.Find(topic)
				if err != nil || len(rest) > 0 {
					return noArgs(found, rest)
				}
				return nil
			}
		case "completion":
			c.Args = noArgs
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
