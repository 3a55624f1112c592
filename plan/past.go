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
	"proactivedp/internal/decimal"
)

// MaxEventsBytes is the most that ReadEvents reads: a quarter of a million
// events.
const MaxEventsBytes = 16 << 20

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
