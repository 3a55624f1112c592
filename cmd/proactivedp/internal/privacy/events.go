package privacy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/answer"
	"proactivedp/auto"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/internal/bounded"
	"proactivedp/plan"
	"proactivedp/train"
)

// newRounds returns the help on the files that historyFlags reads.
func newRounds() *cobra.Command {
	return &cobra.Command{
		Use:   "rounds",
		Short: "Files of rounds, and the plan of a training in several parts",
		Long: `account --events, tradeoff --events and plan --after read files of rounds. A file of rounds
is JSON, an array of
  {"sigma": 2, "sample_rate": 0.01, "steps": 100}
or a single one of these, or CSV with a header of the same names. "sample_size" with
"dataset_size" may replace "sample_rate". "noise_multiplier" is another name for "sigma",
and "count" for "steps". "sampling" and "adjacency" override the flags. "redraw" and
"group" mean the same as the flags. With allocation or shuffling, rounds with another draw
or another data loader are another element of the array. With "truncated_batch_size": B and
"dataset_size", Poisson samples of more than B records are cut to B records.

An element may also be a release that is not training, under the same adjacency:
  {"mechanism": "laplace", "noise_multiplier": 10}: noise scale / 1-norm sensitivity,
  {"mechanism": "gaussian", "noise_multiplier": 5}: σ / 2-norm sensitivity,
  {"mechanism": "randomized-response", "epsilon": 1}: a yes or no from each record,
  {"mechanism": "pure", "epsilon": 0.5} and
  {"mechanism": "approximate", "epsilon": 0.5, "delta": 1e-7}: any other release, or
  {"mechanism": "zcdp", "rho": 0.01}: a release that is ρ-zCDP,
with "count" if there are several. They may also be alone in a file. pld composes all of
these but zcdp, with or without rounds, and rdp all of them.

The output of train --json and plan --json is such a file too, and so is a model that
train --save wrote, but not one of auto, for which only the ε of its whole budget holds.
It names the seed and the run that draw its noise. Several files are composed. Two
releases of one run share their noise and are refused. Two files with the same rounds
that name no run are refused too, unless --independent says that they are two releases.

Files of other libraries are read too: the state of an Opacus accountant as JSON
({"history": [[σ, q, steps], ...], "mechanism": "rdp"}), or a DpEvent of dp_accounting as
Python prints it.

Training in several parts

plan --after FILE plans the next part of a training, a leg, after the rounds in FILE. FILE
lists the rounds of all clients that use the record, from the first leg on.
--target-epsilon then covers all rounds together. Adjacency, sampling and N (without --n)
are taken from FILE.
Without --noise-multiplier, σ follows from --target-epsilon by the paper's (treq4), or is
the least σ in FILE if that is less.

You may choose each leg from released results, because all rounds pass a Rényi filter. Its
ε, δ and orders must be fixed before the first release; --record writes them with the plan
to a file for --after. If FILE has no filter, plan assumes that --target-epsilon and --delta
were fixed then. If all rounds were fixed before the first release, --fixed-beforehand
uses plain composition, which is slightly tighter.`,
	}
}

// historyFlags name files of rounds, the first release first.
type historyFlags struct {
	flag        string
	paths       []string
	independent bool // files with the same rounds are separate releases
}

// add adds the flag with the given help, and --independent, to fs.
func (f *historyFlags) add(fs *pflag.FlagSet, flag, usage string) {
	f.flag = flag
	fs.StringArrayVar(&f.paths, flag, nil, usage)
	fs.BoolVar(&f.independent, "independent", false, "with --"+flag+": two files with the same rounds, which name no "+
		"run, are two releases with independent noise, and not one that is given twice")
}

// read reads the files, JSON or CSV. Rounds without a sampling or adjacency have the given ones. One
// of the files may record a filter. A fault in a file is an error of the command line. So are two
// files with releases of the same run, and two files with the same rounds and no run.
func (f *historyFlags) read(sampling dp.Sampling, adjacency dp.Adjacency) (plan.History, error) {
	var all plan.History
	var errs []error
	var lists [][]dp.Event
	for i, path := range f.paths {
		h, err := readHistory(f.flag, path, sampling, adjacency)
		errs = append(errs, err)
		for j, before := range lists {
			if _, err := dp.Compose(before, h.Events); err != nil {
				errs = append(errs, fmt.Errorf("%s and %s: %w (train --run N takes another run)", f.paths[j], path,
					err))
			}
			if names, _ := dp.Names(before); len(names) == 0 && len(before) > 0 && slices.Equal(before, h.Events) &&
				!f.independent {
				errs = append(errs, fmt.Errorf("%s and %s: the same rounds, which name no run: one release counts "+
					"once, and two must have independent noise: --independent says so", f.paths[j], path))
			}
		}
		if all.Filter != nil && h.Filter != nil {
			errs = append(errs, fmt.Errorf("%s: a filter is recorded in a file before, and all rounds go through one",
				path))
		}
		if h.Filter != nil {
			all.Filter, all.Late = h.Filter, h.Late || i > 0 // its filter was recorded after the releases in earlier files
		}
		lists = append(lists, h.Events)
		all.AddNotes(h.Notes...)
	}
	all.Events = slices.Concat(lists...)
	return all, cli.Usage(errors.Join(errs...))
}

// check returns an error if --independent is given without files.
func (f *historyFlags) check(cmd *cobra.Command) error {
	if f.independent && !cmd.Flags().Changed(f.flag) {
		return fmt.Errorf("--independent must not be given without --%s", f.flag)
	}
	return nil
}

func readHistory(flag, path string, sampling dp.Sampling, adjacency dp.Adjacency) (plan.History, error) {
	if path == "" {
		return plan.History{}, cli.Usage(fmt.Errorf("--%s = \"\", must name a file", flag))
	}
	text, err := bounded.File(path, plan.MaxEventsBytes)
	if err != nil || !utf8.Valid(text) { // a model is no text, and may be larger
		m, wrong := train.OpenModel(path)
		switch {
		case wrong != nil:
			if strings.HasPrefix(string(text), "proactivedp model\n") {
				err = wrong
			}
		case flag == eventsFlag && m.Statement != "":
			err = fmt.Errorf("%s: a model of auto, whose stages may depend on earlier results, so that only the ε of its whole "+
				"budget holds: predict --statement prints it", path)
		default:
			if m.Statement != "" { // of auto, whose statement says it too
				m.Notes = append(m.Notes, strings.TrimSuffix(auto.HeldOutNote, "."))
			}
			text, err = json.Marshal(m)
		}
	}
	if err != nil {
		return plan.History{}, cli.Usage(fmt.Errorf("--%s: %w", flag, err))
	}
	h, err := answer.ReadRounds(text, sampling, adjacency)
	if err != nil {
		return plan.History{}, cli.Usage(fmt.Errorf("%s: %w", path, err))
	}
	return h, nil
}

// eventsFlag is the flag whose files replace the flags of equal rounds.
const eventsFlag = "events"

func addEvents(cmd *cobra.Command, files *historyFlags) {
	files.add(cmd.Flags(), eventsFlag, "`file` of rounds, JSON or CSV, instead of --noise-multiplier, --sample-rate and --steps; "+
		"may be given once for each release")
}

// history returns the rounds of --events, or the rounds that the flags describe. With an error it
// returns no rounds, so that no second error about them follows.
func (r *releaseFlags) history(cmd *cobra.Command, files historyFlags) (plan.History, error) {
	if !cmd.Flags().Changed(eventsFlag) {
		e, err := r.event(cmd, "")
		if err := errors.Join(err, files.check(cmd)); err != nil {
			return plan.History{}, err
		}
		return plan.History{Events: []dp.Event{e}}, nil
	}
	err := cli.RefuseWith(cmd, eventsFlag, slices.Concat(rateFlags, stepsFlags, []string{"noise-multiplier", "group", "redraw"})...)
	sampling, adjacency, pairErr := r.pair(cmd)
	if !cmd.Flags().Changed("adjacency") {
		adjacency = "" // each round then has the usual adjacency of its sampling
	}
	h, fileErr := files.read(sampling, adjacency)
	_, adaptive := h.Fixed()
	if err := errors.Join(err, pairErr, fileErr, adaptive); err != nil {
		return plan.History{}, err
	}
	return h, nil
}
