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

// History is what a record paid for so far, and what may still be spent on it.
type History struct {
	// Filter is what was fixed before the first release, nil if nothing is recorded.
	Filter *rdp.Limits
	// Late says that there were releases when Filter was written down: that it was fixed
	// before them is assumed.
	Late   bool
	Events []dp.Event // in their order, the first release first
	// Notes are what the reports of the rounds say of their ε that is in no event, such as
	// what of the data it does not cover. A statement repeats them.
	Notes []string
}

// AddNotes adds those of the notes that h does not have.
func (h *History) AddNotes(notes ...string) {
	for _, note := range notes {
		if !slices.Contains(h.Notes, note) {
			h.Notes = append(h.Notes, note)
		}
	}
}

// Fixed returns the events if no filter is recorded. If one is they may have been
// chosen by results, which composition says nothing of: that is an error.
func (h History) Fixed() ([]dp.Event, error) {
	if h.Filter != nil {
		return nil, errors.New("events: a filter is recorded, so that rounds may have been chosen by results: " +
			"only a next leg can be planned after them")
	}
	return h.Events, nil
}

// ReadEvents reads rounds of a file: JSON, one of
//
//	[event, …]
//	{"events": [event, …]}
//	{"noise": {"root": "seed:1", "run": 0}, "events": [event, …]}
//	{"releases": [{"noise": …, "events": …}, …]}
//
// An event has the keys
//
//	noise_multiplier or sigma, count or steps,
//	sample_rate, or sample_size and dataset_size,
//	sampling, adjacency
//
// The last two may be left out: sampling and adjacency say what they are then,
// for an empty adjacency what goes with the sampling. Of a release, noise names the
// root and the run that all its rounds are from, see [rng.Name]; two releases of one
// run are an error that wraps dp.ErrSharedNoise. The run must be given. Unknown keys, anything after the
// value, an empty list, a key given twice and events outside their ranges are errors,
// which say which event it is; so are more than MaxEventsBytes. An object that has
// releases may be any report of the program: what else stands beside them is not read,
// but for what [History] notes, and a key that is like "filter" is refused.
//
// A history that records a filter is refused: see [ReadHistory].
func ReadEvents(r io.Reader, sampling dp.Sampling, adjacency dp.Adjacency) ([]dp.Event, error) {
	h, err := ReadHistory(r, sampling, adjacency)
	if err != nil {
		return nil, err
	}
	return h.Fixed()
}

// ReadHistory reads what [ReadEvents] does, and of an object the key "filter", too:
// an object with epsilon, delta and orders, the [rdp.Limits] that were fixed before
// the first release. One with "recorded": false is [History.Late].
func ReadHistory(r io.Reader, sampling dp.Sampling, adjacency dp.Adjacency) (History, error) {
	text, err := io.ReadAll(bounded.Reader(r, MaxEventsBytes))
	if err != nil {
		return History{}, fmt.Errorf("events: %w", err)
	}
	file, err := readFile(bytes.TrimSpace(text))
	if err != nil {
		return History{}, fmt.Errorf("events: %w", err)
	}
	h := History{Filter: file.Filter.limits(), Late: file.Filter.late()}
	var errs []error
	if h.Filter != nil {
		if err := h.Filter.Validate(); err != nil {
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
	if err := errors.Join(append(errs, err)...); err != nil {
		return History{}, err
	}
	h.AddNotes(notes...)
	if h.Events, err = dp.Compose(lists...); err != nil {
		return History{}, err
	}
	if digest := file.Report.SHA256; digest != "" && digest != h.digest() {
		return History{}, errors.New("record: its sha256 is not that of its content: it is damaged, or was " +
			"edited, and who has edited it removes that key")
	}
	return h, nil
}

// historyFile is a file, however it is written.
type historyFile struct {
	Filter   *filterRow
	Releases []releaseRow
	Report   report
}

// report is what is read of a training's report, or of a record, beside its rounds.
type report struct {
	Notes     []string `json:"notes"`
	DataNote  string   `json:"data_note"`
	Synthetic bool     `json:"synthetic_data"`
	SHA256    string   `json:"sha256"` // of a record, see History.WriteJSON
	Privacy   struct {
		Sum string `json:"sum"`
	} `json:"privacy"`
}

// maxNote and maxNotes bound what a file may have a statement say.
const maxNote, maxNotes = 1000, 30

// notes lists what the report says. It must be text for people, which is printed.
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

// filterRow is a filter as it stands in a file.
type filterRow struct {
	rdp.Limits
	Recorded *bool `json:"recorded,omitempty"` // before the first release; so it is if nothing is said

	// What a report has beside them, see FilterUse, is not read.
	Past json.RawMessage `json:"used_by_past,omitempty"`
	All  json.RawMessage `json:"used_by_all,omitempty"`
}

func (f *filterRow) limits() *rdp.Limits {
	if f == nil {
		return nil
	}
	return &f.Limits
}

func (f *filterRow) late() bool { return f != nil && f.Recorded != nil && !*f.Recorded }

func readFile(text []byte) (file historyFile, err error) {
	if bytes.HasPrefix(text, []byte("[")) {
		file.Releases = make([]releaseRow, 1)
		return file, strictjson.Decode(text, &file.Releases[0].Events)
	}
	var beside struct {
		Filter   json.RawMessage `json:"filter"`
		Releases json.RawMessage `json:"releases"`
	}
	if json.Unmarshal(text, &beside) == nil && beside.Releases != nil {
		if err := json.Unmarshal(text, &file.Report); err != nil {
			return file, strictjson.Plain(err, text)
		}
		if err := errors.Join(strictjson.Check(text, true), refuseMisspelt(text)); err != nil {
			return file, err
		}
		if beside.Filter != nil {
			if err := decodePart(text, beside.Filter, &file.Filter); err != nil {
				return file, err
			}
		}
		err := decodePart(text, beside.Releases, &file.Releases)
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

// decodePart decodes a part of text. Errors count the lines of all of it.
func decodePart(text, part []byte, v any) error {
	above := bytes.Count(text[:bytes.Index(text, part)], []byte("\n"))
	return strictjson.Decode(append(bytes.Repeat([]byte("\n"), above), part...), v)
}

// refuseMisspelt reports a key that seems to be meant for "filter": among the keys of a
// report, which are not read, the bound that all rounds go through would be lost unseen.
func refuseMisspelt(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return strictjson.Plain(err, text)
	}
	const filter = "filter"
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !strings.EqualFold(key, filter) && message.Nearest(key, []string{filter}) != "" {
			return fmt.Errorf("the key %.40q, must be %q if that is meant, or another", key, filter)
		}
	}
	return nil
}

// releaseRow is a release as it may stand in a file.
type releaseRow struct {
	Noise *struct {
		Root string `json:"root"`
		Run  *run   `json:"run"`
	} `json:"noise"`
	Events []eventRow `json:"events"`
}

// read returns the events of the release, all of its noise.
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
			errs = append(errs, errors.New("noise: run is missing, must say which run of the root it is, from "+
				"0 on"))
		} else {
			noise.Run = uint64(*r.Noise.Run)
		}
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

// run is the number of a run.
type run uint64

// UnmarshalJSON reads it in full, where a float64 would round it.
func (r *run) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("a run = %s, must be a whole number in [0, 2^64)", text)
	}
	*r = run(n)
	return nil
}

// WriteJSON writes what [ReadHistory] reads, the rounds of each release together. A record
// of a filter has the SHA-256 of the rest, as nothing else tells that a bit of it is
// another: who edits it removes that key.
func (h History) WriteJSON(w io.Writer) error {
	digest := ""
	if h.Filter != nil {
		digest = h.digest()
	}
	return h.write(w, digest)
}

// digest is the SHA-256 of the history as it is written without one.
func (h History) digest() string {
	sum := sha256.New()
	_ = h.write(sum, "") // writing into a hash does not fail, and numbers that were read are finite
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

// follower returns the name of the release after the past, from the root given or, if
// that is "", from the last numbered seed that the past names; no name if there is
// neither. It is the run after the last of its root, so that it shares no noise.
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
			return rng.Name{}, fmt.Errorf("root = %q has no run after %d, name another", next.Root, e.Noise.Run)
		}
		next = after
	}
	return next, nil
}

// wholeRun is the noise of all clients of a run that may have no name.
func wholeRun(name rng.Name) dp.Noise {
	if !name.Known() {
		return dp.Noise{}
	}
	return dp.Noise{Name: name, Client: dp.AllClients}
}

// checkRoot reports what is wrong with the name of a root that was given.
func checkRoot(root string) error {
	if root == "" {
		return nil
	}
	return (rng.Name{Root: root}).Validate()
}

// howToRun says by which options train takes its noise from a numbered seed.
func howToRun(name rng.Name) string {
	seed, ok := name.Seed()
	if !ok {
		return ""
	}
	return fmt.Sprintf(": train --seed %d --run %d", seed, name.Run)
}
