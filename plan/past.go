package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/rdp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
)

// MaxEventsBytes is the most that ReadEvents reads: a quarter of a million
// events.
const MaxEventsBytes = 16 << 20

// ReadEvents reads rounds of a file: JSON, either an array of events or an object
// whose only key "events" holds one. An event has the keys
//
//	noise_multiplier or sigma, count or steps,
//	sample_rate, or sample_size and dataset_size,
//	sampling, adjacency
//
// The last two may be left out: sampling and adjacency say what they are then,
// for an empty adjacency what goes with the sampling. Unknown keys, anything
// after the value, an empty list, a key given twice and events outside their
// ranges are errors, which say which event it is; so are more than MaxEventsBytes.
//
// A history that records a filter is refused: see [ReadHistory].
func ReadEvents(r io.Reader, sampling dp.Sampling, adjacency dp.Adjacency) ([]dp.Event, error) {
	h, err := ReadHistory(r, sampling, adjacency)
	if err != nil {
		return nil, err
	}
	return h.Fixed()
}

// History is what a record paid for so far, and what may still be spent on it.
type History struct {
	// Filter is what was fixed before the first release, nil if nothing is recorded.
	Filter *rdp.Limits `json:"filter,omitempty"`
	Events []dp.Event  `json:"events"` // in their order, the first release first
}

// Fixed returns the events if no filter is recorded. If one is they may have been
// chosen by results, which composition says nothing of: that is an error.
func (h History) Fixed() ([]dp.Event, error) {
	if h.Filter != nil {
		return nil, errors.New("plan: events: a filter is recorded, so that rounds may have been chosen by results: " +
			"only a next leg can be planned after them")
	}
	return h.Events, nil
}

// ReadHistory reads what [ReadEvents] does, and of an object the key "filter", too:
// an object with epsilon, delta and orders, the [rdp.Limits] that were fixed before
// the first release.
func ReadHistory(r io.Reader, sampling dp.Sampling, adjacency dp.Adjacency) (History, error) {
	text, err := io.ReadAll(bounded.Reader(r, MaxEventsBytes))
	if err != nil {
		return History{}, fmt.Errorf("plan: events: %w", err)
	}
	text = bytes.TrimSpace(text)
	var file struct {
		Filter *rdp.Limits `json:"filter"`
		Events []eventRow  `json:"events"`
	}
	if bytes.HasPrefix(text, []byte("[")) {
		err = strict(text, &file.Events)
	} else {
		err = strict(text, &file)
	}
	if err != nil {
		return History{}, fmt.Errorf("plan: events: %w", err)
	}
	if len(file.Events) == 0 {
		return History{}, errors.New(`plan: events: none, must be a JSON array of at least one, or {"events": […]}`)
	}
	h := History{Filter: file.Filter, Events: make([]dp.Event, len(file.Events))}
	var errs []error
	if h.Filter != nil {
		if err := h.Filter.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("plan: filter: %w", err))
		}
	}
	for i, row := range file.Events {
		if h.Events[i], err = row.event(sampling, adjacency); err != nil {
			errs = append(errs, fmt.Errorf("plan: event %d: %w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return History{}, err
	}
	return h, nil
}

// WriteJSON writes what [ReadHistory] reads.
func (h History) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(h)
}

// eventRow is an event as it may stand in a file. Its own fields take the place
// of those of the event.
type eventRow struct {
	dp.Event
	SampleSize  whole   `json:"sample_size"`
	DatasetSize whole   `json:"dataset_size"`
	Count       whole   `json:"count"`
	Sigma       float64 `json:"sigma"`
	Steps       whole   `json:"steps"`
}

// whole is a whole number that may be written as 1e4, too.
type whole int

// UnmarshalJSON reads a count; null leaves it alone, as encoding/json has it.
func (w *whole) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	n, err := decimal.Count(string(text))
	if err != nil {
		return fmt.Errorf("a count = %s, %w", text, err)
	}
	*w = whole(n)
	return nil
}

func (r eventRow) event(sampling dp.Sampling, adjacency dp.Adjacency) (dp.Event, error) {
	e := r.Event
	e.SampleSize, e.DatasetSize, e.Count = int(r.SampleSize), int(r.DatasetSize), int(r.Count)
	var errs []error
	switch {
	case r.Sigma != 0 && e.NoiseMultiplier != 0:
		errs = append(errs, errors.New("noise_multiplier and sigma are the same, only one may be given"))
	case r.Sigma != 0:
		e.NoiseMultiplier = r.Sigma
	}
	switch {
	case r.Steps != 0 && e.Count != 0:
		errs = append(errs, errors.New("count and steps are the same, only one may be given"))
	case r.Steps != 0:
		e.Count = int(r.Steps)
	}
	e = Complete(e, sampling, adjacency)
	return e, errors.Join(append(errs, e.Validate())...)
}

// Complete returns e with the sampling and adjacency given where it has none; an
// empty adjacency is the one that goes with the sampling.
func Complete(e dp.Event, sampling dp.Sampling, adjacency dp.Adjacency) dp.Event {
	if e.Sampling == "" {
		e.Sampling = sampling
	}
	if e.Adjacency == "" {
		e.Adjacency = adjacency
	}
	if e.Adjacency == "" {
		e.Adjacency = dp.NaturalAdjacency(e.Sampling)
	}
	return e
}

// strict decodes one JSON value that is all of text.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return plain(err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the first JSON value")
	}
	return refuseRepeats(json.NewDecoder(bytes.NewReader(text)))
}

// plain is what a decoder's error says of text, without the decoder's own words.
func plain(err error, text []byte) error {
	line := func(offset int64) int { return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n")) }
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		want := map[reflect.Kind]string{reflect.String: "a string", reflect.Slice: "an array",
			reflect.Struct: "an object"}
		field := cmp.Or(wrong.Field, "the value")
		return fmt.Errorf("line %d: %s is a JSON %s, must be %s", line(wrong.Offset), field, wrong.Value,
			cmp.Or(want[wrong.Type.Kind()], "a number"))
	}
	if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d is no JSON: %w", line(broken.Offset), err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends in the middle of a value")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// refuseRepeats reports a key that stands twice in one object, in whatever case:
// of two values the decoder would take the last. It reads one value, which must be
// JSON that the decoder has taken: then it is nested to a bounded depth.
func refuseRepeats(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	keys := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name := strings.ToLower(fmt.Sprint(key))
			if keys[name] {
				return fmt.Errorf("the key %q stands twice in one object", key)
			}
			keys[name] = true
		}
		if err := refuseRepeats(d); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}

func checkEvents(events []dp.Event) error {
	var errs []error
	for i, e := range events {
		if err := e.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("plan: event %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}
