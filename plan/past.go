package plan

import (
	"cmp"
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
)

// MaxEventsBytes is the largest input of [ReadHistory], in bytes. It is enough for about a quarter of a million
// events, each of which describes any number of equal rounds.
const MaxEventsBytes = 16 << 20

// eventRow is an event in a file. Its fields replace those of dp.Event.
type eventRow struct {
	dp.Event
	SampleSize      whole    `json:"sample_size"`
	DatasetSize     whole    `json:"dataset_size"`
	NoiseMultiplier *float64 `json:"noise_multiplier"`
	Sigma           *float64 `json:"sigma"`
	Count           *whole   `json:"count"`
	Steps           *whole   `json:"steps"`
}

// whole is an integer that may also be written as 1e4.
type whole int

// UnmarshalJSON reads a count. Like encoding/json, it ignores null.
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
	e.SampleSize, e.DatasetSize = int(r.SampleSize), int(r.DatasetSize)
	var errs []error
	if r.NoiseMultiplier != nil && r.Sigma != nil {
		errs = append(errs, errors.New("noise_multiplier and sigma are the same, only one may be given"))
	}
	if r.Count != nil && r.Steps != nil {
		errs = append(errs, errors.New("count and steps are the same, only one may be given"))
	}
	missing := func(what string) { errs = append(errs, errors.New(what)) }
	if sigma := cmp.Or(r.NoiseMultiplier, r.Sigma); sigma != nil {
		e.NoiseMultiplier = *sigma
	} else if e.Other == "" || e.Other == dp.GaussianNoise || e.Other == dp.LaplaceNoise {
		missing("noise_multiplier or sigma is missing")
		e.NoiseMultiplier = 1 // so that it is reported once
	}
	if e.Other != "" {
		return r.other(e, sampling, adjacency, errs)
	}
	e = Complete(e, sampling, adjacency)
	judged := e // with 1 for missing values, so that each is reported once
	switch {
	case e.Rate != 0:
	case e.SampleSize == 0 && e.DatasetSize == 0:
		missing("sample_rate is missing or 0, and so are sample_size and dataset_size")
		judged.Rate = 1
	case e.SampleSize == 0:
		missing("sample_size is missing or 0")
		judged.SampleSize = 1
	case e.DatasetSize == 0:
		missing("dataset_size is missing or 0")
		judged.DatasetSize = max(1, e.SampleSize)
	}
	if count := cmp.Or(r.Count, r.Steps); count != nil {
		e.Count = int(*count)
		judged.Count = e.Count
	} else {
		missing("count or steps is missing")
		judged.Count = 1
	}
	return e, errors.Join(append(errs, judged.Validate())...)
}

// other returns the event of a release that is not a round of training. Its
// adjacency may be missing only if one is given for all rounds, or if the usual one of their sampling is
// add-or-remove. If no count is given, it is one release.
func (r eventRow) other(e dp.Event, sampling dp.Sampling, adjacency dp.Adjacency, errs []error) (dp.Event, error) {
	if e.Sampling != "" && e.Sampling != dp.Unsampled {
		errs = append(errs, fmt.Errorf("sampling = %q, must not be given with mechanism %s", e.Sampling, e.Other))
	}
	if e.Adjacency == "" && adjacency == "" && dp.NaturalAdjacency(sampling) != dp.AddOrRemove {
		errs = append(errs, fmt.Errorf("adjacency is missing: what a release with mechanism %s costs depends on it, and %s "+
			"sampling implies %s", e.Other, sampling, dp.NaturalAdjacency(sampling)))
	}
	e.Sampling = sampling
	e = Complete(e, sampling, adjacency)
	e.Sampling, e.Count = dp.Unsampled, 1
	if count := cmp.Or(r.Count, r.Steps); count != nil {
		e.Count = int(*count)
	}
	return e, errors.Join(append(errs, e.Validate())...)
}

// Complete returns the event e (rounds of training, or another release) with its sampling and its adjacency filled in
// from the arguments, if they are empty. If the argument adjacency is "", too, it uses the usual one for the
// sampling: add-or-remove for Poisson and Allocation, replace-one for FixedSize, zero-out for Shuffle (see
// [dp.NaturalAdjacency]). Use it for events from a file that does not state them.
func Complete(e dp.Event, sampling dp.Sampling, adjacency dp.Adjacency) dp.Event {
	e.Sampling = cmp.Or(e.Sampling, sampling)
	e.Adjacency = cmp.Or(e.Adjacency, adjacency, dp.NaturalAdjacency(e.Sampling))
	return e
}
