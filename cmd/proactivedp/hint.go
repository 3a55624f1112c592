package main

import (
	"errors"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data/fetch"
)

// hint names the command or the flag that helps on after an error, or is "".
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
		return "proactivedp data verify tells which files are damaged; data fetch fetches those of the cache anew"
	case !interrupted:
		return ""
	case has("resume") && cli.AnyChanged(cmd, "out", "listen", "broker"):
		return "the same command goes on from what is kept"
	case has("resume"):
		for _, flag := range []string{"checkpoint", "resume"} {
			if file := cmd.Flags().Lookup(flag).Value.String(); file != "" {
				return "go on with proactivedp train --resume " + file
			}
		}
		return "nothing is kept; with --checkpoint FILE a run can be gone on with after an interrupt"
	case has("delays") && !cli.AnyChanged(cmd, "out"):
		return "with --out FOLDER finished runs are kept, and the same command goes on from them"
	case has("out") && !has("accuracy"):
		return "the same command goes on from what is kept"
	}
	return ""
}
