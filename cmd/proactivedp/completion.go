package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/answer"
	"proactivedp/audit"
	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/privacy"
	"proactivedp/data"
	"proactivedp/data/hog"
	"proactivedp/data/scatter"
	"proactivedp/data/table"
	"proactivedp/dp"
	"proactivedp/internal/plots"
	"proactivedp/models"
	"proactivedp/plan"
	"proactivedp/sim"
	"proactivedp/train"
)

// durations are the forms of --compute-time and --latency, delays those of --delay.
var (
	durations = []string{"constant:", "exponential:", "uniform:", "lognormal:", "pareto:", "trace:"}
	delays    = []string{"0", "1", "unlimited", "sqrt", "clients:", "list:"}
)

// ownTexts are flags whose values only the user knows: nothing is offered for them.
const ownTexts = "orders class-weights host run-id resend steps churn label-column keep person label-map target-bounds"

// completions returns what a shell offers for the value of a flag, by the flag's name. Flags for
// numbers and switches are missing, because nothing is offered for them, and so are those that
// [byUsage] decides.
func completions() map[string]cobra.CompletionFunc {
	known := map[string]cobra.CompletionFunc{
		"model":        modelsOf,
		"models":       listOf(classifiers()...),
		"data":         orFile(cli.AllDataNames()...),
		"partition":    oneOf(string(data.Replicate), string(data.Shard), "dirichlet:"),
		"init":         filesOf("npz", "safetensors"),
		"precision":    oneOf(train.Precisions()...),
		"schedule":     oneOf(cli.Names(sim.Decays())...),
		"average":      oneOf("none", "ema:", "tail:"),
		"metric":       oneOf(models.MetricNames()...),
		"sampling":     oneOf(cli.Names(dp.Samplings())...),
		"features":     oneOf(hog.Prefix, scatter.Name),
		"split":        oneOf(train.RecordSplit, train.ShuffledSplit),
		"adjacency":    oneOf(cli.Names(dp.Adjacencies())...),
		"runner":       oneOf(train.VirtualRunner, train.HogwildRunner),
		"delay":        oneOf(delays...),
		"delays":       listOf("0", "1", "unlimited", "sqrt"),
		"compute-time": oneOf(durations...),
		"latency":      oneOf(durations...),
		"speeds":       oneOf("lognormal:", "pareto:"),
		"batch-size":   oneOf("linear:", "poly:", "list:"),
		"accountant":   oneOf(append([]string{answer.AllAccountants}, answer.AccountantNames()...)...),
		"method": oneOf(string(plan.ClosedForm), string(plan.RDP), string(plan.PLD), string(plan.Printed),
			string(plan.Paper)),
		"solve":         oneOf(privacy.Solvable...),
		"format":        formats,
		"font":          oneOf(plots.Fonts...),
		"width":         oneOf("3.25in", "8.5cm"),
		"address":       oneOf("127.0.0.1:8321", "127.0.0.1:0"),
		"fault":         oneOf(cli.Names(audit.Faults())...),
		"memory":        oneOf("1GiB", "4GiB", "16GiB"),
		"strategy":      oneOf(string(auto.Paper), string(auto.PaperTarget), string(auto.Tight), string(auto.Default)),
		"probe":         probes,
		"clients-file":  filesOf("json"),
		"events":        filesOf("json", "csv"),
		"scores":        filesOf("csv"),
		"event-log":     filesOf("jsonl", "log"),
		"after":         filesOf("json", "csv"),
		"record":        filesOf("json"),
		"root":          oneOf("seed:"),
		"clipping":      oneOf("norm", train.AutomaticClipping),
		"redraw":        oneOf("epoch", "once"),
		"csv":           filesOf("csv"),
		"png":           filesOf("png"),
		"trace":         filesOf("json"),
		"plan":          filesOf("json"),
		"creds":         filesOf("creds"),
		"at":            oneOf("nats://127.0.0.1:4222", "tls://"),
		"broker":        oneOf("nats://127.0.0.1:4222", "tls://"),
		"expel-after":   oneOf("10m", "1h"),
		"give-up-after": oneOf("10m", "1h", "never"),
		"max-epsilon":   oneOf("1", "any"),
		"listen":        oneOf("127.0.0.1:4222"),
		"workers-at":    oneOf("nats://127.0.0.1:4222", "tls://"),
		"metrics":       oneOf("127.0.0.1:9090"),
		"sync":          oneOf("always", "1s", "2m"),
		"trainer":       oneOf("python3 "),
		"time-limit":    oneOf("1h", "24h"),
		"normalise":     orFile("bounds:"),
		"bounds":        oneOf("private:"),
		"out-of-bounds": oneOf("clamp", "refuse"),
		"arrays":        oneOf("x=", "y=fine", "y=coarse"),
		"image":         oneOf("28x28x1", "32x32x3", "3x32x32"),
		"number-format": oneOf(table.NumberForms...),
		"columns":       filesOf("csv", "tsv"),
	}
	for name := range strings.FieldsSeq(ownTexts) {
		known[name] = oneOf()
	}
	return known
}

func addCompletions(cmd *cobra.Command) error {
	known := completions()
	var failed error
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			offer, ok := known[f.Name]
			if !ok || strings.HasPrefix(f.Value.Type(), "count") {
				offer = byUsage(f)
			}
			if f.Value.Type() == "bool" {
				return
			}
			if err := cmd.RegisterFlagCompletionFunc(f.Name, offer); err != nil {
				failed = err
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(cmd)
	return failed
}

// byUsage offers files or folders if the usage of the flag says that it names one, and otherwise nothing.
func byUsage(f *pflag.Flag) cobra.CompletionFunc {
	switch what, _ := pflag.UnquoteUsage(f); what {
	case "folder":
		return folders
	case "file", "path":
		return filesOf()
	}
	return oneOf()
}

// oneOf offers the values, and no files. A value that ends with a colon is continued by the user.
func oneOf(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		fitting := cli.Beginning(word, values)
		directive := cobra.ShellCompDirectiveNoFileComp
		if slices.ContainsFunc(fitting, func(v string) bool { return strings.HasSuffix(v, ":") }) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return fitting, directive
	}
}

// listOf offers the values that are not in the list yet, after its last comma.
func listOf(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		end := strings.LastIndex(word, ",") + 1
		there := strings.Split(word[:end], ",")
		left := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(there, v) })
		fitting := cli.Beginning(word[end:], left)
		for i := range fitting {
			fitting[i] = word[:end] + fitting[i]
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// orFile offers the values, or files if no value begins with the word.
func orFile(values ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return cli.Beginning(word, values), cobra.ShellCompDirectiveDefault
	}
}

// filesOf offers the files with these extensions, or all files if none is given.
func filesOf(extensions ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(extensions) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return extensions, cobra.ShellCompDirectiveFilterFileExt
	}
}

func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func classifiers() []string { return slices.DeleteFunc(train.ModelNames(), train.IsRegression) }

// modelsOf offers models. Only train learns numbers.
func modelsOf(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if cmd.Name() == "train" {
		return oneOf(train.ModelNames()...)(cmd, args, typed)
	}
	return oneOf(classifiers()...)(cmd, args, typed)
}

// probes offers the data sets that may be searched instead of the private data. Only propose
// also offers private selection.
func probes(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := []string{"own", "synthetic"}
	if cmd.Name() == "propose" {
		names = append(names, "private")
	}
	return oneOf(append(names, cli.AllDataNames()...)...)(cmd, args, typed)
}

// formats offers the formats of models, of pictures or of code.
func formats(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch {
	case cmd.Name() == "export":
		return oneOf(train.ExportFormats()...)(cmd, args, typed)
	case cmd.Flags().Lookup("bare") != nil:
		return listOf(plots.Formats...)(cmd, args, typed)
	}
	return oneOf(cli.FormatNames()...)(cmd, args, typed)
}
