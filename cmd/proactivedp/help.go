package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
)

// helpWidth is the width, in columns, to which the help of flags is wrapped.
const helpWidth = 88

// commandGroups are the groups in which commands are listed, by their titles. otherCommands is that of all commands
// that no group lists.
var commandGroups = []struct{ title, commands string }{
	{"Privacy:", "plan account calibrate tradeoff audit page serve ask"},
	{"Training and its accuracy:", "propose train delay utility search auto"},
	{"Several machines:", "worker host join status expel keys"},
	{"The paper:", "figures tables"},
	{otherCommands, ""},
	{"More help:", "rounds"},
}

const otherCommands = "Data and program:"

func groupCommands(root *cobra.Command) {
	of := map[string]string{}
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for name := range strings.FieldsSeq(group.commands) {
			of[name] = group.title
		}
	}
	for _, c := range root.Commands() {
		c.GroupID = cmp.Or(of[c.Name()], otherCommands)
	}
	root.SetHelpCommandGroupID(otherCommands)
	root.SetCompletionCommandGroupID(otherCommands)
}

// manyFlags is the largest number of flags that --help lists. For a command with more flags it
// lists those of shortHelp, and --help-all lists all of them in groups.
const manyFlags = 25

// shortHelp maps the name of each command with more than manyFlags flags to the flags that its --help lists, in
// this order. The shared lists ownData and trained may name flags that a command does not have. Those are
// skipped.
var shortHelp = map[string]string{
	"train":   trained + " seed seed-from-os save checkpoint resume plan dry-run json statement help",
	"host":    trained + " seed plan dry-run listen broker dir keys creds json help",
	"delay":   trained + " delays seeds out workers json help",
	"utility": ownData + " clients model batch-size steps max-grad-norm noise-multiplier learning-rate draws seed out json help",
	"search": ownData + " clients models batch-size steps noise-multiplier learning-rate beta schedule scale proxy " +
		"seeds holdout out workers json help",
	"propose": ownData + " clients model target-epsilon target-accuracy delta steps seeds seed count probe out check workers " +
		"json help",
	"auto": ownData + " clients clients-file model target-epsilon target-accuracy delta strategy probe dir save " +
		"seed seed-from-os json statement help",
	"figures": ownData + " list dry-run out seeds scale quick sizes epsilons clients model batch-size runner redraw " +
		"format workers help",
	"plan": "n epochs batch-size steps noise-multiplier target-epsilon delta clients shared method adjacency " +
		"frontier after record budget csv png json statement format help",
}

// The flags for data and for a training that a short help lists.
const (
	ownData = "data data-dir label-column label-map columns normalise test"
	trained = "data label-column label-map columns normalise clients model batch-size steps epochs noise-multiplier " +
		"max-grad-norm target-epsilon delta learning-rate"
)

// helpAll is the value of --help-all: it asks for help, with all flags.
type helpAll struct{ cmd *cobra.Command }

func (h helpAll) Set(string) error { return h.cmd.Flags().Set("help", "true") }
func (helpAll) String() string     { return "false" }
func (helpAll) Type() string       { return "bool" }
func (helpAll) IsBoolFlag() bool   { return true }

// addHelpAll adds the flag --help-all to commands with many flags.
func addHelpAll(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.InitDefaultHelpFlag(); shown(c.Flags()) > manyFlags {
			f := c.Flags().VarPF(helpAll{c}, "help-all", "", "list all flags, in groups")
			f.NoOptDefVal = "true"
		}
	}
}

// shown returns how many flags are not hidden.
func shown(flags *pflag.FlagSet) int {
	count := 0
	defer func(sorts bool) { flags.SortFlags = sorts }(flags.SortFlags)
	flags.SortFlags = false // the order does not matter here, and each command counts when the program starts
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			count++
		}
	})
	return count
}

// flagGroups are the groups in which --help-all lists flags. Flags without a group are listed last.
var flagGroups = []struct{ title, flags string }{
	{"Data and clients", "data data-dir cache clients clients-file partition split holdout fold"},
	{"Your own file", "label-column label-map columns normalise bounds out-of-bounds no-header header-line number-format " +
		"zero-based arrays image person at-most test"},
	{"Model and steps", "model models batch-size sizes steps epochs grad-computations scale proxy learning-rate eta0 beta " +
		"schedule features input-scale lambda momentum average precision init clipping"},
	{"Privacy", "n noise-multiplier max-grad-norm target-epsilon epsilons target-accuracy delta sampling adjacency method " +
		"draws theta shared root run exact"},
	{"Several legs", "after fixed-beforehand record budget orders"},
	{"Asynchrony", "runner delay delays adapt"},
	{"The clock", "compute-time latency speeds loss resend duplicate churn time-scale"},
	{"Several machines", "workers-at listen dir broker creds keys key sync expel-after metrics log-json event-log"},
	{"Randomness", "seed seeds seed-from-os"},
	{"Pictures", "format bare width font font-size dpi"},
}

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
	listFlags(&text, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\n%s COMMAND --help prints the help of a command.\n", cmd.CommandPath())
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
			if c.GroupID == group.ID && (c.IsAvailableCommand() || c.Name() == "help" || c.IsAdditionalHelpTopicCommand()) {
				fmt.Fprintf(w, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
}

// listFlags lists the flags: the short help of a command with many, or all, in groups.
func listFlags(w io.Writer, cmd *cobra.Command) {
	flags := cmd.LocalFlags()
	write := func(title string, set *pflag.FlagSet) {
		if set.HasAvailableFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", title, set.FlagUsagesWrapped(helpWidth))
		}
	}
	if flags.Lookup("help-all") == nil {
		write("Flags", flags)
		return
	}
	if !flags.Changed("help-all") {
		few := pick(flags, strings.Fields(shortHelp[cmd.Name()]))
		few.SortFlags = false
		write("Flags", few)
		fmt.Fprintf(w, "\n%s --help-all lists all %d flags.\n", cmd.CommandPath(), shown(flags))
		return
	}
	var grouped, left []string
	for _, group := range flagGroups {
		names := strings.Fields(group.flags)
		write(group.title, pick(flags, names))
		grouped = append(grouped, names...)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(grouped, f.Name) {
			left = append(left, f.Name)
		}
	})
	write("Running and output", pick(flags, left))
}

// pick returns the flags with the names. Flags that do not exist are skipped.
func pick(flags *pflag.FlagSet, names []string) *pflag.FlagSet {
	picked := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, name := range names {
		if f := flags.Lookup(name); f != nil {
			picked.AddFlag(f)
		}
	}
	return picked
}

// refuseUnknown makes the commands that cobra adds refuse unknown arguments, as all others do.
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
