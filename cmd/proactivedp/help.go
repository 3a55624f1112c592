package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
)

// helpWidth is the width, in columns, that the help of flags is wrapped at.
const helpWidth = 88

// commandGroups are the groups in which the commands are listed, by their titles;
// groupCommands says which command is in which.
var commandGroups = []*cobra.Group{
	{ID: "privacy", Title: "What privacy costs:"},
	{ID: "training", Title: "What training keeps:"},
	{ID: "machines", Title: "Several machines:"},
	{ID: "paper", Title: "The paper:"},
	{ID: "program", Title: "Data and program:"},
}

// groupCommands puts the commands of root into their groups.
func groupCommands(root *cobra.Command) {
	root.AddGroup(commandGroups...)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "plan", "account", "calibrate", "tradeoff", "audit", "page", "serve":
			c.GroupID = "privacy"
		case "propose", "train", "delay", "utility", "search", "auto":
			c.GroupID = "training"
		case "worker", "join", "status", "expel", "keys":
			c.GroupID = "machines"
		case "figures", "tables":
			c.GroupID = "paper"
		default:
			c.GroupID = "program"
		}
	}
	root.SetHelpCommandGroupID("program")
	root.SetCompletionCommandGroupID("program")
}

// flagGroups are the groups in which the flags of a command with many of them are
// listed. What is in none comes last.
var flagGroups = []struct {
	title string
	flags []string
	of    string // a flag without which those of a command mean something else; "": none
}{
	{"Data and clients", []string{"data", "data-dir", "clients", "partition", "split", "holdout", "fold"}, "data"},
	{"A file of yours", []string{"label-column", "label-map", "columns", "normalise", "test"}, ""},
	{"Model and steps", []string{
		"model", "models", "eta0", "beta", "schedule", "grad-computations", "scale", "batch-size", "sizes",
		"features", "input-scale", "lambda", "momentum", "average", "precision",
	}, "features"},
	{"Privacy", []string{
		"noise-multiplier", "max-grad-norm", "target-epsilon", "epsilons", "target-accuracy", "delta", "sampling", "draws",
	}, "features"},
	{"Asynchrony", []string{"runner", "delay", "delays", "adapt"}, ""},
	{"The clock", []string{
		"compute-time", "latency", "speeds", "loss", "resend", "duplicate", "churn", "time-scale",
	}, ""},
	{"Several machines", []string{
		"workers-at", "listen", "dir", "broker", "creds", "keys", "key", "sync", "expel-after", "metrics", "log-json",
		"event-log",
	}, "log-json"},
	{"Randomness", []string{"seed", "seeds", "seed-from-os"}, ""},
	{"Pictures", []string{"format", "bare", "width", "font", "font-size", "dpi"}, "dpi"},
}

// manyFlags is from how many flags on they are listed in groups.
const manyFlags = 25

// writeUsage writes how a command is called: its examples, commands and flags.
func writeUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	var text strings.Builder
	fmt.Fprint(&text, "Usage:\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s COMMAND [flags]\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&text, "  %s\n", cmd.UseLine())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", cmd.Example)
	}
	listCommands(&text, cmd)
	listFlags(&text, cmd.LocalFlags())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\n%s COMMAND --help tells more of a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// listCommands lists the commands below cmd, group by group.
func listCommands(w io.Writer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 && cmd.HasAvailableSubCommands() {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, group := range groups {
		fmt.Fprintf(w, "\n%s\n", group.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == group.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(w, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
}

// listFlags lists the flags, in groups if they are many.
func listFlags(w io.Writer, flags *pflag.FlagSet) {
	count := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			count++
		}
	})
	left := pflag.NewFlagSet("", pflag.ContinueOnError)
	groups := make([]*pflag.FlagSet, len(flagGroups))
	for i := range groups {
		groups[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		at := left
		for i, group := range flagGroups {
			if count >= manyFlags && slices.Contains(group.flags, f.Name) &&
				(group.of == "" || flags.Lookup(group.of) != nil) {
				at = groups[i]
			}
		}
		at.AddFlag(f)
	})
	write := func(title string, set *pflag.FlagSet) {
		if set.HasAvailableFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", title, set.FlagUsagesWrapped(helpWidth))
		}
	}
	rest := "Flags"
	for i, group := range flagGroups {
		if groups[i].HasAvailableFlags() {
			rest = "Running and output"
		}
		write(group.title, groups[i])
	}
	write(rest, left)
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
					return cli.NoArgs(found, rest)
				}
				return nil
			}
		case "completion":
			c.Args = cli.NoArgs
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}
