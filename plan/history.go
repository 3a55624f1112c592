package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"proactivedp/dp"
	"proactivedp/dp/rdp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/message"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// History lists everything that was released so far about a record, as events, and the privacy budget that limits
// further releases, if one was fixed beforehand (a Rényi filter, see [rdp.Filter]). [ReadHistory] reads a History
// from a file. Put its fields into a [NextRequest] to plan the next rounds.
type History struct {
	// Filter has the budget and the Rényi orders of the filter, which were fixed before the first release. It is nil
	// if the file has no filter.
	Filter *rdp.Limits
	// Late is true if Filter was saved only after the first release. It is then only an assumption that its limits
	// were fixed before the first release, and privacy statements say so.
	Late   bool
	Events []dp.Event // all releases about the record, in their order
	// Notes are warnings from the files of the rounds about what the events cannot express, for example data that ε
	// does not cover. A privacy statement must repeat them.
	Notes []string
}

// AddNotes adds the notes (warnings, see [History].Notes) to h. A note that h already has is not added again.
func (h *History) AddNotes(notes ...string) {
	for _, note := range notes {
		if !slices.Contains(h.Notes, note) {
			h.Notes = append(h.Notes, note)
		}
	}
}

// Fixed returns the events of h for an accountant such as pld.Accountant, whose ε holds only for rounds that were
// fixed beforehand. It returns an error if h has a filter (a budget for rounds that are chosen from earlier results),
// because the rounds of h may then depend on earlier results.
func (h History) Fixed() ([]dp.Event, error) {
	if h.Filter != nil {
		return nil, errors.New("events: a filter is recorded, so rounds may depend on earlier results: only a " +
			"next leg can be planned after them")
	}
	return h.Events, nil
}

// ReadHistory reads events from JSON in one of these forms, for example from the report of a training:
//
//	[event, …]
//	{"events": [event, …]}
//	{"noise": {"root": "seed:1", "run": 0}, "events": [event, …]}
//	{"releases": [{"noise": …, "events": …}, …]}
//
// An event stands for equal rounds and has the keys
//
//	noise_multiplier or sigma (the same), count or steps (both are the number of rounds),
//	sample_rate, or sample_size (batch size) and dataset_size (number of records),
//	sampling, adjacency
//
// The keys sampling and adjacency may be omitted. Then the arguments sampling and adjacency apply. If the argument
// adjacency is "", it stands for the usual one for the sampling: add-or-remove for Poisson and Allocation,
// replace-one for FixedSize, zero-out for Shuffle (see [dp.NaturalAdjacency]).
//
// The key noise of a release names the source of the noise of all its rounds: the root (a seed or a secret) and the
// number of the run, see [rng.Name]. It is an error if the noise has no number (key run). Two releases of the same
// run are an error that wraps dp.ErrSharedNoise, because their noise can be subtracted.
//
// Unknown keys (except in a report, see below), repeated keys, an empty list, data after the value, more than
// MaxEventsBytes, and events outside their ranges are errors. The error names the event.
//
// An object with the key "releases" may be any report of this program. The warnings in it, in the keys notes,
// data_note, synthetic_data and privacy.sum, become the Notes of the [History]. Keys that are not needed are ignored.
// But the key "events" next to "releases", and a key that looks like a misspelling of one of these or of "filter", is
// an error, because otherwise rounds or the budget would be lost without a message.
//
// The key "filter" of an object has the keys epsilon, delta and orders: the [rdp.Limits] that were
// fixed before the first release. If it also has "recorded": false, [History.Late] is set.
func ReadHistory(r io.Reader, sampling dp.Sampling, adjacency dp.Adjacency) (History, error) {
	text, err := io.ReadAll(bounded.Reader(r, MaxEventsBytes))
	if err != nil {
		return History{}, fmt.Errorf("events: %w", err)
	}
	file, err := readFile(bytes.TrimSpace(text))
	if err != nil {
		return History{}, fmt.Errorf("events: %w", err)
	}
	var h History
	var errs []error
	if f := file.Filter; f != nil {
		h.Filter, h.Late = &f.Limits, f.Recorded != nil && !*f.Recorded
		if err := f.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("filter: %w", err))
		}
	}
	lists := make([][]dp.Event, len(file.Releases))
	for i, release := range file.Releases {
		if lists[i], err = release.read(sampling, adjacency); err != nil && len(lists) > 1 {
			err = fmt.Errorf("release %d: %w", i, err)
		}
		errs = append(errs, err)
	}
	notes, err := file.Report.notes()
	err = errors.Join(err, file.Report.checkBounds(slices.Concat(lists...)))
	if err := errors.Join(append(errs, err)...); err != nil {
		return History{}, err
	}
	h.AddNotes(notes...)
	if h.Events, err = dp.Compose(lists...); err != nil {
		return History{}, err
	}
	if digest := file.Report.SHA256; digest != "" && digest != h.digest() {
		return History{}, errors.New("record: its sha256 does not match its content: the file is damaged or was " +
			"edited. If you edited it, remove the key sha256")
	}
	return h, nil
}

// historyFile is the content of a file, whichever form it has.
type historyFile struct {
	Filter   *filterRow
	Releases []releaseRow
	Report   report
}

// report holds those keys of a report or a record, other than its rounds, that are read.
type report struct {
	Notes     []string        `json:"notes"`
	DataNote  string          `json:"data_note"`
	Synthetic bool            `json:"synthetic_data"`
	SHA256    string          `json:"sha256"` // of a record, see History.WriteJSON
	Config    json.RawMessage `json:"config"`
	Privacy   struct {
		Sum string `json:"sum"`
	} `json:"privacy"`
}

// checkBounds refuses the report of a training whose private bounds cost more than its events say.
// Older reports do not list the bounds among the releases.
func (r report) checkBounds(events []dp.Event) error {
	var config map[string]json.RawMessage
	_ = json.Unmarshal(r.Config, &config) // other reports have another config
	epsilon, there := config["bounds_epsilon"]
	if !there {
		return nil
	}
	var spent *float64
	if err := json.Unmarshal(epsilon, &spent); err != nil || spent == nil {
		return fmt.Errorf("bounds_epsilon = %.40s, must be a number", epsilon)
	}
	listed := func(e dp.Event) bool {
		return e.Other == dp.PureDP && e.Adjacency == dp.AddOrRemove && e.Epsilon >= *spent
	}
	if *spent == 0 || slices.ContainsFunc(events, listed) {
		return nil
	}
	return fmt.Errorf("bounds_epsilon = %.40s: the bounds of the columns cost this ε, which is not among the rounds: give the "+
		"rounds without the rest of the report, and add it to their ε", epsilon)
}

// maxNote and maxNotes limit the notes of a file: bytes of each, and how many.
const maxNote, maxNotes = 1000, 30

// notes returns the notes of the report. It refuses notes that are not printable, because they become
// part of a statement.
func (r report) notes() ([]string, error) {
	var notes []string
	if r.Synthetic {
		notes = append(notes, "the data are SYNTHETIC")
	}
	if r.DataNote != "" {
		notes = append(notes, r.DataNote)
	}
	if r.Privacy.Sum != "" {
		notes = append(notes, "each sum "+r.Privacy.Sum)
	}
	notes = append(notes, r.Notes...)
	if len(notes) > maxNotes {
		return nil, fmt.Errorf("notes: %d of them, must be at most %d", len(notes), maxNotes)
	}
	for _, note := range notes {
		if len(note) > maxNote || strings.ContainsFunc(note, func(c rune) bool {
			return c == unicode.ReplacementChar || !unicode.IsPrint(c)
		}) {
			return nil, fmt.Errorf("notes: %.40q, must be of printable characters, at most %d bytes", note,
				maxNote)
		}
	}
	return notes, nil
}

type filterRow struct {
	rdp.Limits
	Recorded *bool `json:"recorded,omitempty"` // whether it was recorded before the first release; true if missing

	// These keys of FilterUse, which reports contain, are ignored.
	Past json.RawMessage `json:"used_by_past,omitempty"`
	All  json.RawMessage `json:"used_by_all,omitempty"`
}

func readFile(text []byte) (file historyFile, err error) {
	if bytes.HasPrefix(text, []byte("[")) {
		file.Releases = make([]releaseRow, 1)
		return file, strictjson.Decode(text, &file.Releases[0].Events)
	}
	var top struct {
		Filter   json.RawMessage `json:"filter"`
		Releases json.RawMessage `json:"releases"`
	}
	if json.Unmarshal(text, &top) == nil && top.Releases != nil {
		if err := json.Unmarshal(text, &file.Report); err != nil {
			return file, strictjson.Plain(err, text)
		}
		if err := errors.Join(strictjson.Check(text, true), refuseLost(text)); err != nil {
			return file, err
		}
		if top.Filter != nil {
			if err := decodePart(text, top.Filter, &file.Filter); err != nil {
				return file, err
			}
		}
		err := decodePart(text, top.Releases, &file.Releases)
		if err == nil && len(file.Releases) == 0 {
			err = errors.New("no releases, must be at least one")
		}
		return file, err
	}
	var one struct {
		Filter *filterRow `json:"filter"`
		releaseRow
	}
	err = strictjson.Decode(text, &one)
	return historyFile{Filter: one.Filter, Releases: []releaseRow{one.releaseRow}}, err
}

// decodePart decodes part, which is a part of text. Line numbers in errors refer to text.
func decodePart(text, part []byte, v any) error {
	above := bytes.Count(text[:bytes.Index(text, part)], []byte("\n"))
	return strictjson.Decode(append(bytes.Repeat([]byte("\n"), above), part...), v)
}

// refuseLost reports a key next to "releases" that may hold rounds or the limits of the filter. Unknown keys of a report
// are ignored, so they would be lost without a message: ε would be too small.
func refuseLost(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return strictjson.Plain(err, text)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch near := message.Nearest(key, []string{"filter", "releases", "events"}); {
		case near == "" || near != "events" && strings.EqualFold(key, near):
		case strings.EqualFold(key, near):
			return fmt.Errorf("the key %q is next to \"releases\", must be in one of its elements, or rounds would not be counted", key)
		default:
			return fmt.Errorf("the key %.40q looks like %q: if it is that, correct it; if not, rename it", key, near)
		}
	}
	return nil
}

type releaseRow struct {
	Noise *struct {
		Root string `json:"root"`
		Run  *run   `json:"run"`
	} `json:"noise"`
	Events []eventRow `json:"events"`
}

// read returns the events of the release, with its noise.
func (r releaseRow) read(sampling dp.Sampling, adjacency dp.Adjacency) ([]dp.Event, error) {
	if len(r.Events) == 0 {
		return nil, errors.New(`events: none, must be a JSON array of at least one, or {"events": […]}`)
	}
	var noise dp.Noise
	var errs []error
	if r.Noise != nil {
		noise = dp.Noise{Name: rng.Name{Root: r.Noise.Root}, Client: dp.AllClients}
		if err := noise.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("noise: %w", err))
		}
		if r.Noise.Run == nil {
			errs = append(errs, errors.New("noise: run is missing, must be the number of the run of this root, "+
				"from 0 on"))
		} else {
			noise.Run = uint64(*r.Noise.Run)
		}
	}
	if adjacency == "" && !slices.ContainsFunc(r.Events, func(e eventRow) bool { return e.Other != dp.RandomizedResponse }) {
		adjacency = dp.ReplaceOne // these releases have no other
	}
	events := make([]dp.Event, len(r.Events))
	for i, row := range r.Events {
		var err error
		if events[i], err = row.event(sampling, adjacency); err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", i, err))
		}
		events[i].Noise = noise
	}
	return events, errors.Join(errs...)
}

type run uint64

// UnmarshalJSON reads the number exactly; a float64 would round it.
func (r *run) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("a run = %s, must be a whole number in [0, 2^64)", text)
	}
	*r = run(n)
	return nil
}

// WriteJSON writes the history in the form that [ReadHistory] reads. If there is a filter (a budget that was fixed
// beforehand), it adds the key sha256 with a digest of the content, and ReadHistory refuses a file that has changed
// since. To edit such a file by hand, remove that key.
func (h History) WriteJSON(w io.Writer) error {
	digest := ""
	if h.Filter != nil {
		digest = h.digest()
	}
	return h.write(w, digest)
}

// digest returns the SHA-256 of the history as written without a digest.
func (h History) digest() string {
	sum := sha256.New()
	_ = h.write(sum, "") // writing into a hash does not fail, and all numbers are finite
	return hex.EncodeToString(sum.Sum(nil))
}

func (h History) write(w io.Writer, digest string) error {
	var filter *filterRow
	if h.Filter != nil {
		filter = &filterRow{Limits: *h.Filter}
		if h.Late {
			filter.Recorded = new(bool)
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Filter   *filterRow   `json:"filter,omitempty"`
		Releases []dp.Release `json:"releases"`
		Notes    []string     `json:"notes,omitempty"`
		SHA256   string       `json:"sha256,omitempty"`
	}{filter, dp.Releases(h.Events), h.Notes, digest})
}

// follower returns the name of the release that follows the past. It is the run after the last run of
// the root, so that it shares no noise with the past. If root is "", the root is the last numbered seed
// that the past names; if no seed is named, the name is empty.
func follower(past []dp.Event, root string) (rng.Name, error) {
	next := rng.Name{Root: root}
	if root == "" {
		for _, e := range past {
			if e.Noise.Simulated() {
				next.Root = e.Noise.Root
			}
		}
	}
	if next.Root == "" {
		return rng.Name{}, nil
	}
	for _, e := range past {
		if e.Noise.Root != next.Root || e.Noise.Run < next.Run {
			continue
		}
		after, ok := e.Noise.Next()
		if !ok {
			return rng.Name{}, fmt.Errorf("root = %q has no run after %d, give another root", next.Root, e.Noise.Run)
		}
		next = after
	}
	return next, nil
}

// wholeRun returns the noise of all clients of a run. It is empty if the run has no name.
func wholeRun(name rng.Name) dp.Noise {
	if !name.Known() {
		return dp.Noise{}
	}
	return dp.Noise{Name: name, Client: dp.AllClients}
}

// checkRoot reports an invalid name of a root. An empty name is valid.
func checkRoot(root string) error {
	if root == "" {
		return nil
	}
	return (rng.Name{Root: root}).Validate()
}

// howToRun returns the options with which train uses the noise of a numbered seed, or "".
func howToRun(name rng.Name) string {
	seed, ok := name.Seed()
	if !ok {
		return ""
	}
	return fmt.Sprintf(": train --seed %d --run %d", seed, name.Run)
}
