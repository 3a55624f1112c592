package privacy

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// eventsHelp describes the files that historyFlags reads.
const eventsHelp = `A file of rounds is JSON, an array of
  {"sigma": 2, "sample_rate": 0.01, "steps": 100}
or a single one of these, or CSV with a header of the same names. "sample_size" with
"dataset_size" may replace "sample_rate", "noise_multiplier" is "sigma", and "count" is
"steps". "sampling" and "adjacency" override the options. "redraw" and "group" are as in
the options. Rounds of another draw of allocation, or of another data loader that
shuffles, are another element of the array.
The output of train --json and plan --json is such a file too. It names the seed and the
run that its noise is from. Several files are composed. Two releases of one run share their
noise and are refused. So are two files with the same rounds that name no run, unless
--independent says that they are two releases.
Files of other libraries are read too: the state of an Opacus accountant as JSON
({"history": [[σ, q, steps], ...], "mechanism": "rdp"}), or a DpEvent of dp_accounting as
Python prints it.`

// historyFlags name files of rounds, the first release first.
type historyFlags struct {
	flag        string
	paths       []string
	independent bool // files with the same rounds are of two releases
}

// add gives fs the flag, with the usage given, and --independent.
func (f *historyFlags) add(fs *pflag.FlagSet, flag, usage string) {
	f.flag = flag
	fs.StringArrayVar(&f.paths, flag, nil, usage)
	fs.BoolVar(&f.independent, "independent", false, "with --"+flag+": two files with the same rounds, which name no "+
		"run, are two releases with noise of their own, and not one given twice")
}

// read reads the files, JSON or CSV. Rounds that leave it out are of the sampling and
// adjacency given. One of the files may record a filter. What is wrong with them, which
// the flag names, is an error of the command line; so are two files with releases of one
// run, or with the same rounds of none.
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
					"once, and two must have noise of their own, which --independent says", f.paths[j], path))
			}
		}
		if all.Filter != nil && h.Filter != nil {
			errs = append(errs, fmt.Errorf("%s: a filter is recorded in a file before, and all rounds go through one",
				path))
		}
		if h.Filter != nil {
			all.Filter, all.Late = h.Filter, h.Late || i > 0 // what a file before it has was released before
		}
		lists = append(lists, h.Events)
		all.AddNotes(h.Notes...)
	}
	all.Events = slices.Concat(lists...)
	return all, cli.Usage(errors.Join(errs...))
}

// check refuses --independent without files.
func (f *historyFlags) check(cmd *cobra.Command) error {
	if f.independent && !cmd.Flags().Changed(f.flag) {
		return fmt.Errorf("--independent must not be given without --%s", f.flag)
	}
	return nil
}

// readHistory reads one file, which the flag names.
func readHistory(flag, path string, sampling dp.Sampling, adjacency dp.Adjacency) (plan.History, error) {
	if path == "" {
		return plan.History{}, cli.Usage(fmt.Errorf("--%s = \"\", must name a file", flag))
	}
	text, err := bounded.File(path, plan.MaxEventsBytes)
	if err != nil {
		return plan.History{}, cli.Usage(fmt.Errorf("--%s: %w", flag, err))
	}
	if !utf8.Valid(text) {
		return plan.History{}, cli.Usage(fmt.Errorf("%s: must be text in UTF-8; a state of Opacus is written by "+
			"json.dump, not by torch.save", path))
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if isRound(text) {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	var h plan.History
	if libraries.Recognise(text) != libraries.NotRecognised {
		h, err = libraries.Read(text, sampling, adjacency)
	} else if bytes.HasPrefix(text, []byte("[")) || bytes.HasPrefix(text, []byte("{")) {
		if h, err = plan.ReadHistory(bytes.NewReader(text), sampling, adjacency); err != nil {
			err = cmp.Or(noRounds(text), err)
		}
	} else {
		h.Events, err = parseEvents(text, sampling, adjacency)
	}
	if err != nil {
		return plan.History{}, cli.Usage(fmt.Errorf("%s: %w", path, err))
	}
	return h, nil
}

// isRound reports whether a text is one object of an array of rounds, by itself: half of its
// keys at least are those of one, so that what is wrong is the others.
func isRound(text []byte) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil || len(top) == 0 {
		return false
	}
	known := 0
	for key := range top {
		if columns[cmp.Or(otherNames[key], key)] != nil {
			known++
		}
	}
	return 2*known >= len(top)
}

// answers are what other commands print as JSON, which is no file of rounds, by keys that
// only they have.
var answers = []struct {
	keys []string
	why  string
}{
	{[]string{"satisfied", "stages", "privacy"}, "this is what auto --json prints: its rounds were chosen by what " +
		"was released before them, which composition does not cover; what holds is the bound of its filter, " +
		"privacy.epsilon_upper at privacy.delta, and other tasks on these records go on in the same --dir of auto"},
	{[]string{"journal", "journal_sha256"}, "this is the journal of auto: its rounds were chosen by what was " +
		"released before them, which composition does not cover; the same auto command with --json says what holds"},
	{[]string{"proposals", "frontier"}, "this is what propose --json prints: settings, of which none was run; what " +
		"train --plan FILE --json prints of one is a file of rounds"},
	{[]string{"seeds", "points", "privacy"}, "this is what train --seeds prints: several trainings for a comparison; " +
		"what train --json prints of one is a file of rounds"},
	{[]string{"sample_rate", "steps", "target_epsilon"}, "this is what calibrate --json prints: its sigma, " +
		"sample_rate and steps are for --noise-multiplier, --sample-rate and --steps"},
	{[]string{"predictions", "trained_on_sha256"}, "this is what predict --json prints: labelling releases nothing " +
		"more of the records that the model was trained on"},
}

// noRounds says what a text is that is no file of rounds but the answer of another command;
// nil where it is not.
func noRounds(text []byte) error {
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil {
		return nil
	}
	for _, a := range answers {
		if !slices.ContainsFunc(a.keys, func(key string) bool { return top[key] == nil }) {
			return errors.New(a.why)
		}
	}
	return nil
}

// columns read the columns of a CSV file of rounds, by the keys of dp.Event.
var columns = map[string]func(e *dp.Event, field string) error{
	"sampling":         func(e *dp.Event, field string) error { e.Sampling = dp.Sampling(field); return nil },
	"adjacency":        func(e *dp.Event, field string) error { e.Adjacency = dp.Adjacency(field); return nil },
	"noise_multiplier": func(e *dp.Event, field string) error { return parseFloat(&e.NoiseMultiplier, field) },
	"sample_rate":      func(e *dp.Event, field string) error { return parseFloat(&e.Rate, field) },
	"sample_size":      func(e *dp.Event, field string) error { return parseInt(&e.SampleSize, field) },
	"dataset_size":     func(e *dp.Event, field string) error { return parseInt(&e.DatasetSize, field) },
	"redraw":           func(e *dp.Event, field string) error { e.Redraw = dp.Redraw(field); return nil },
	"group":            func(e *dp.Event, field string) error { return parseInt(&e.Group, field) },
	"count":            func(e *dp.Event, field string) error { return parseInt(&e.Count, field) },
}

// parseEvents reads the events of a CSV file. An empty field is one not given.
func parseEvents(text []byte, sampling dp.Sampling, adjacency dp.Adjacency) ([]dp.Event, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.TrimLeadingSpace = true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("neither JSON, nor a DpEvent, nor CSV: %w", err)
	}
	if len(rows) < 2 {
		return nil, errors.New("no events, must be a header and at least one row, or a JSON array")
	}
	header := rows[0]
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	var events []dp.Event
	var errs []error
	for i, row := range rows[1:] {
		var e dp.Event
		var bad []error
		for j, field := range row {
			if field = strings.TrimSpace(field); field == "" {
				if header[j] == "noise_multiplier" { // without it 0 would be meant
					bad = append(bad, errors.New("noise_multiplier is missing"))
				}
				continue
			}
			if err := columns[header[j]](&e, field); err != nil {
				bad = append(bad, fmt.Errorf("%s = %q, %w", header[j], field, err))
			}
		}
		if e = plan.Complete(e, sampling, adjacency); len(bad) == 0 {
			bad = append(bad, e.Validate())
		}
		if err := errors.Join(bad...); err != nil {
			errs = append(errs, fmt.Errorf("row %d: %w", i+2, err))
		}
		events = append(events, e)
	}
	return events, errors.Join(errs...)
}

// otherNames are the second names of the columns that have two.
var otherNames = map[string]string{"sigma": "noise_multiplier", "steps": "count"}

// checkHeader reports every column that there is not, or is twice, and what is missing.
func checkHeader(header []string) error {
	var errs []error
	names := slices.Sorted(maps.Keys(columns))
	names = append(names, slices.Sorted(maps.Keys(otherNames))...)
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if name, ok := otherNames[header[i]]; ok {
			header[i] = name
		}
		if columns[header[i]] == nil {
			errs = append(errs, fmt.Errorf("column %q, must be one of %s", header[i], strings.Join(names, ", ")))
		}
		if slices.Contains(header[:i], header[i]) {
			errs = append(errs, fmt.Errorf("column %q is there twice", header[i]))
		}
	}
	has := func(name string) bool { return slices.Contains(header, name) }
	if !has("noise_multiplier") {
		errs = append(errs, errors.New("no column noise_multiplier or sigma"))
	}
	if !has("sample_rate") && !(has("sample_size") && has("dataset_size")) {
		errs = append(errs, errors.New("no column sample_rate, nor sample_size and dataset_size"))
	}
	if !has("count") {
		errs = append(errs, errors.New("no column count or steps"))
	}
	return errors.Join(errs...)
}

func parseFloat(v *float64, field string) (err error) {
	if *v, err = strconv.ParseFloat(field, 64); err != nil {
		return cli.ErrNumber
	}
	return nil
}

func parseInt(v *int, field string) (err error) {
	*v, err = decimal.Count(field)
	return err
}

// eventsFlag is the flag whose files replace the flags of equal rounds.
const eventsFlag = "events"

// addEvents gives cmd the flag --events.
func addEvents(cmd *cobra.Command, files *historyFlags) {
	files.add(cmd.Flags(), eventsFlag, "`file` of rounds, JSON or CSV, instead of --noise-multiplier, --sample-rate and --steps; "+
		"may be given once for each release")
}

// history returns the rounds of --events, or those that the flags describe. With an error it
// returns none, so that what is wrong with them is said once.
func (r *releaseFlags) history(cmd *cobra.Command, files historyFlags) (plan.History, error) {
	if !cmd.Flags().Changed(eventsFlag) {
		e, err := r.event(cmd, "")
		if err := errors.Join(err, files.check(cmd)); err != nil {
			return plan.History{}, err
		}
		return plan.History{Events: []dp.Event{e}}, nil
	}
	err := cli.RefuseWith(cmd, eventsFlag, slices.Concat(rateFlags, stepsFlags, []string{"noise-multiplier"})...)
	sampling, adjacency, pairErr := r.pair(cmd)
	if !cmd.Flags().Changed("adjacency") {
		adjacency = "" // each round then has the adjacency that goes with its sampling
	}
	h, fileErr := files.read(sampling, adjacency)
	_, adaptive := h.Fixed()
	if err := errors.Join(err, pairErr, fileErr, adaptive); err != nil {
		return plan.History{}, err
	}
	return h, nil
}
