package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"proactivedp/auto"
	"proactivedp/cluster"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data/fetch"
	"proactivedp/dp"
	"proactivedp/internal/memory"
	"proactivedp/internal/message"
	"proactivedp/models"
	"proactivedp/plan"
	"proactivedp/sim"
	"proactivedp/trainer"
)

// hint returns a sentence with the command or the flag that helps after an error, or "".
func hint(cmd *cobra.Command, err error, interrupted bool) string {
	has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
	switch {
	case errors.Is(err, fetch.ErrMissing) && has("data-dir"):
		return "--data-dir or $" + cli.DataEnv + " names the folder; without both, proactivedp data fetch downloads " +
			"into the cache"
	case errors.Is(err, fetch.ErrUnavailable) && has("data-dir"):
		stand := ""
		if has("allow-stand-in") {
			stand = "; --allow-stand-in takes the synthetic stand-in"
		} else if has("data") {
			stand = "; --data synth-… is a synthetic stand-in (see proactivedp data list)"
		}
		return "where there is a network, proactivedp data fetch downloads the data; --data-dir names a folder " +
			"that has them" + stand
	case errors.Is(err, fetch.ErrDamaged) && has("data-dir"):
		return "proactivedp data verify lists the damaged files; data fetch downloads those of the cache again"
	case errors.Is(err, trainer.ErrFailed):
		return "the training counts in full; another one needs a larger --target-epsilon for both, about twice as large"
	case interrupted:
		return goOn(cmd)
	}
	for _, h := range hints {
		byBest := h.flag == "method" && has(h.flag) && cmd.Flags().Lookup(h.flag).Value.String() == string(plan.PLD)
		if errors.Is(err, h.err) && has(h.flag) && !byBest {
			return h.text
		}
	}
	if _, ok := errors.AsType[*auto.Refusal](err); ok {
		return "a larger --target-epsilon or a smaller --target-accuracy can be met"
	}
	return ""
}

// hints maps errors to advice. Each applies to commands that have its flag.
var hints = []struct {
	err        error
	flag, text string
}{
	{memory.ErrTooLittle, "memory", "--memory SIZE sets the limit. Fewer --workers take less, and so do fewer --clients"},
	{models.ErrDiverged, "eta0", "a smaller --learning-rate (or --eta0) helps, or a smaller --max-grad-norm"},
	{sim.ErrKey, "checkpoint-key", "--checkpoint-key FILE names the key that the checkpoint was written under"},
	{cluster.ErrNoServer, "at", "--at URL names the broker of the training, and --run-id the run"},
	{dp.ErrNotCovered, "method", "--method pld covers the most"},
}

// goOn returns a sentence about an interrupted command. It says which work is kept and how to
// continue, or how to keep work next time. For a command that never keeps work, or that prints its
// own sentence, it returns "".
func goOn(cmd *cobra.Command) string {
	const (
		kept     = "the same command continues from what is kept"
		withOut  = "with --out FOLDER finished runs are kept, and the same command continues from them"
		withFile = "nothing is kept; with --checkpoint FILE a run of --runner virtual can be continued after an " +
			"interrupt"
	)
	given := func(flags ...string) bool { return cli.AnyChanged(cmd, flags...) }
	switch cmd.Name() {
	case "figures", "search", "host":
		return kept
	case "auto":
		if !given("dir") {
			return "nothing is kept; with --dir FOLDER the same command continues after an interrupt"
		}
		return kept
	case "audit":
		if given("out") {
			return kept
		}
	case "delay", "propose":
		if !given("out") {
			return withOut
		}
		return kept
	case "train":
		switch {
		case given("out", "listen", "broker"):
			return kept
		case given("seeds"):
			return withOut
		}
		for _, flag := range []string{"checkpoint", "resume"} {
			if file := cmd.Flags().Lookup(flag).Value.String(); file != "" {
				return "continue with proactivedp train --resume " + message.Word(file) + unkept(cmd)
			}
		}
		if cmd.Flags().Lookup("seed-from-os").Value.String() == "true" {
			return "nothing is kept, as that would be the secret of the noise; auto --seed-from-os --dir FOLDER " +
				"comes through interrupts"
		}
		return withFile
	}
	return ""
}

// unkept returns the given flags that a checkpoint does not hold. Without them the resumed training
// cannot read the user's file, or leaves out a further output, such as --save.
func unkept(cmd *cobra.Command) string {
	names := slices.Concat([]string{"data-dir", "cache"}, cli.OwnFlagNames,
		[]string{cli.TargetFlag, "checkpoint-every", "checkpoint-key", "memory", "workers", "save", "json"})
	if cli.AnyChanged(cmd, "resume") {
		names = append(names, "data") // the data are no longer where the checkpoint says
	}
	return cli.GivenText(cmd, names...)
}
