package answer

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// ReadRounds reads the rounds of a training from the text of a file. In the text, an event stands for a number of equal
// rounds (see [dp.Event]). The text has one of three forms:
//
//   - JSON with a list of events, or the report of a training in JSON (see [plan.ReadHistory]);
//   - CSV with one event a line, under a header of the JSON keys of dp.Event, such as noise_multiplier and count;
//   - the rounds as another library saved them, such as the state of an accountant of Opacus (see [libraries.Read]).
//
// For rounds without a sampling or an adjacency in the file, ReadRounds uses the arguments. If the argument adjacency
// is "", it uses the one that [dp.NaturalAdjacency] returns for the sampling.
func ReadRounds(text []byte, sampling dp.Sampling, adjacency dp.Adjacency) (plan.History, error) {
	if len(text) > plan.MaxEventsBytes {
		return plan.History{}, fmt.Errorf("%d bytes, must be at most %d", len(text), plan.MaxEventsBytes)
	}
	if !utf8.Valid(text) {
		return plan.History{}, errors.New("must be text in UTF-8; a state of Opacus is written by json.dump, not by " +
			"torch.save")
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if !json.Valid(text) && isPython(text) {
		given, err := libraries.FromPython(text)
		if err != nil {
			return plan.History{}, fmt.Errorf("this is what Python prints, %w; json.dump(state, file) writes what is read", err)
		}
		text = given
	}
	if bytes.HasPrefix(text, []byte("BudgetAccountant(")) {
		return plan.History{}, errors.New("this is what diffprivlib prints of its accountant, whose pairs (ε, δ) are for replacing a " +
			`record: [{"mechanism": "pure", "epsilon": 0.5, "adjacency": "replace-one"}, …] gives each pair, with "approximate" and ` +
			`"delta" if δ is above 0`)
	}
	joined, err := joinLines(text)
	if err != nil {
		return plan.History{}, err
	}
	if joined != nil {
		text = joined
	}
	if isRound(text) {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	switch {
	case libraries.Recognise(text) != libraries.NotRecognised:
		return libraries.Read(text, sampling, adjacency)
	case bytes.HasPrefix(text, []byte("[")), bytes.HasPrefix(text, []byte("{")):
		h, err := plan.ReadHistory(bytes.NewReader(text), sampling, adjacency)
		if err != nil {
			err = cmp.Or(noRounds(text), unknownKey(err), err)
		}
		return h, err
	}
	events, err := parseEvents(text, sampling, adjacency)
	return plan.History{Events: events}, err
}

// isPython reports whether a text begins like what Python prints of a dict or of a list of tuples.
func isPython(text []byte) bool {
	inner := bytes.TrimSpace(text[min(1, len(text)):])
	return bytes.HasPrefix(text, []byte("OrderedDict(")) || bytes.HasPrefix(text, []byte("(")) ||
		bytes.HasPrefix(text, []byte("{")) && bytes.HasPrefix(inner, []byte("'")) ||
		bytes.HasPrefix(text, []byte("[")) && (bytes.HasPrefix(inner, []byte("(")) || bytes.HasPrefix(inner, []byte("{'")))
}

// isRound reports whether a text is a single round, not in an array: at least half of its keys are
// keys of a round. Then the error should be about the other keys. A single release that is not training has the key
// mechanism, as the state of Opacus has, which has its history too.
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
	return 2*known >= len(top) || top["mechanism"] != nil && top["history"] == nil
}

// joinLines returns an array of the JSON values of a text that has several, as JSON Lines has, and begins with a round. It
// returns nil for another text. What follows a round and is no JSON is an error: the rounds after it must not be left out.
func joinLines(text []byte) ([]byte, error) {
	var all [][]byte
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var one json.RawMessage
		err := d.Decode(&one)
		if err == io.EOF {
			break
		}
		if len(all) == 0 && (err != nil || !isRound(one)) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("after round %d: %w", len(all), err)
		}
		all = append(all, one)
	}
	if len(all) < 2 {
		return nil, nil
	}
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",\n")), []byte("]")), nil
}

// unknownKey returns the error about an unknown key with all keys of rounds, or nil for another error. What is not a key
// of a round may still be one of another file.
func unknownKey(err error) error {
	if !strings.Contains(err.Error(), "unknown field") {
		return nil
	}
	return fmt.Errorf("%w; rounds have %s (see proactivedp help rounds)", err, strings.Join(columnNames(), ", "))
}

// answers lists the JSON answers of other commands, which are not files of rounds, by keys that
// only these answers have.
var answers = []struct {
	keys []string
	why  string
}{
	{[]string{"satisfied", "stages", "privacy"}, "this is what auto --json prints: its rounds were chosen by what " +
		"was released before them, which composition does not cover; what holds is the bound of its filter, " +
		"privacy.epsilon_upper at privacy.delta, and auto continues with other tasks on these records in the same --dir"},
	{[]string{"journal", "journal_sha256"}, "this is the journal of auto: its rounds were chosen by what was " +
		"released before them, which composition does not cover; the same auto command with --json says what holds"},
	{[]string{"proposals", "frontier"}, "this is what propose --json prints: settings that were not run yet; what " +
		"train --plan FILE --json prints of one is a file of rounds"},
	{[]string{"seeds", "points", "privacy"}, "this is what train --seeds prints: several trainings for a comparison; " +
		"what train --json prints of one is a file of rounds"},
	{[]string{"sample_rate", "steps", "target_epsilon"}, "this is what calibrate --json prints: its sigma, " +
		"sample_rate and steps are for --noise-multiplier, --sample-rate and --steps"},
	{[]string{"predictions", "trained_on_sha256"}, "this is what predict --json prints: labelling releases nothing " +
		"more of the records that the model was trained on"},
}

// noRounds returns an error if the text is the answer of another command and not a file of rounds.
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

// columns are the columns of a CSV file of rounds, by the keys of dp.Event.
var columns = map[string]func(e *dp.Event, field string) error{
	"adjacency":            func(e *dp.Event, field string) error { e.Adjacency = dp.Adjacency(field); return nil },
	"count":                func(e *dp.Event, field string) error { return parseInt(&e.Count, field) },
	"dataset_size":         func(e *dp.Event, field string) error { return parseInt(&e.DatasetSize, field) },
	"group":                func(e *dp.Event, field string) error { return parseInt(&e.Group, field) },
	"noise_multiplier":     func(e *dp.Event, field string) error { return parseFloat(&e.NoiseMultiplier, field) },
	"redraw":               func(e *dp.Event, field string) error { e.Redraw = dp.Redraw(field); return nil },
	"sample_rate":          func(e *dp.Event, field string) error { return parseFloat(&e.Rate, field) },
	"sample_size":          func(e *dp.Event, field string) error { return parseInt(&e.SampleSize, field) },
	"sampling":             func(e *dp.Event, field string) error { e.Sampling = dp.Sampling(field); return nil },
	"truncated_batch_size": func(e *dp.Event, field string) error { return parseInt(&e.Truncated, field) },
}

// parseEvents reads the events of a CSV file. An empty field means that the value is not given.
func parseEvents(text []byte, sampling dp.Sampling, adjacency dp.Adjacency) ([]dp.Event, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.TrimLeadingSpace = true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("neither JSON, nor a DpEvent, nor CSV with commas between its fields and decimal points: %w", err)
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

func columnNames() []string {
	return append(slices.Sorted(maps.Keys(columns)), "sigma", "steps") // the last two are keys of otherNames
}

// checkHeader returns an error for unknown, repeated and missing columns.
func checkHeader(header []string) error {
	var errs []error
	names := columnNames()
	for i, name := range header {
		name = strings.TrimSpace(name)
		header[i] = cmp.Or(otherNames[name], name)
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
		return errors.New("must be a number, such as 0.05 or 1e-5")
	}
	return nil
}

func parseInt(v *int, field string) (err error) {
	*v, err = decimal.Count(field)
	return err
}
