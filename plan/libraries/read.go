package libraries

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/strictjson"
	"proactivedp/plan"
)

// Recorded says in which form another library saved its rounds. [Recognise] finds it out, and [Read] reads the text.
type Recorded string

// These are the values of [Recorded]: the forms that [Read] accepts, and NotRecognised for any other text.
const (
	OpacusState   Recorded = "the state of an accountant of Opacus"
	DpEventText   Recorded = "an event of dp_accounting"
	NotRecognised Recorded = ""
)

// Recognise guesses from the beginning of a text in which form another library wrote it. Use it to tell such a text
// from one that plan.ReadHistory reads. It does not check the rest of the text; [Read] does.
func Recognise(text []byte) Recorded {
	text = bytes.TrimSpace(text)
	switch {
	case bytes.HasPrefix(text, []byte("[")) && bytes.HasPrefix(bytes.TrimSpace(text[1:]), []byte("[")),
		hasHistory(text):
		return OpacusState
	case isEvent(text), hasEventNames(text):
		return DpEventText
	}
	return NotRecognised
}

// hasHistory reports whether text is a JSON object with a key "history".
func hasHistory(text []byte) bool {
	if !bytes.HasPrefix(text, []byte("{")) {
		return false
	}
	var keys map[string]json.RawMessage
	err := json.Unmarshal(text, &keys)
	return err == nil && keys["history"] != nil && keys["events"] == nil && keys["releases"] == nil
}

// Read returns the rounds in a text that was saved from Opacus or dp_accounting: the state_dict() of an accountant of
// Opacus, as JSON, or an event of dp_accounting, as Python prints it (repr) or as the JSON of its to_named_tuple(). A
// text of Opacus does not state sampling and adjacency, and a text of dp_accounting may not. Read then uses the
// arguments. If the argument adjacency is "", it uses the usual one for the sampling: add-or-remove for Poisson and
// Allocation, replace-one for FixedSize, zero-out for Shuffle (see [dp.NaturalAdjacency]). If no accountant covers
// the rounds, the error says why and wraps dp.ErrNotCovered. text must be at most plan.MaxEventsBytes long.
func Read(text []byte, sampling dp.Sampling, adjacency dp.Adjacency) (plan.History, error) {
	if len(text) > plan.MaxEventsBytes {
		return plan.History{}, fmt.Errorf("%d bytes, must be at most %d", len(text), plan.MaxEventsBytes)
	}
	var h plan.History
	var err error
	switch Recognise(text) {
	case OpacusState:
		h.Events, err = readOpacus(text)
		h.AddNotes(fmt.Sprintf("read from Opacus, whose state does not record the sampling and the clipping: "+
			"assumed are %s sampling, clipping that is not adaptive, and one batch in each step. If a step "+
			"adds the gradients of several batches, a record may be in more than one, and ε is larger", sampling))
	case DpEventText:
		h.Events, err = readDpEvent(text)
		h.AddNotes("read from an event of dp_accounting")
	default:
		return h, errors.New("neither the state of an accountant of Opacus nor an event of dp_accounting")
	}
	if err != nil {
		return plan.History{}, err
	}
	var errs []error
	for i, e := range h.Events {
		if e.Other != "" {
			var err error
			if e.Adjacency, err = adjacencyOf(e, h.Events, adjacency); err != nil {
				errs = append(errs, fmt.Errorf("rounds %d: %w", i, err))
				continue
			}
		}
		h.Events[i] = plan.Complete(e, sampling, adjacency)
		if err := h.Events[i].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("rounds %d: %w", i, err))
		}
	}
	return h, errors.Join(errs...)
}

// adjacencyOf returns the adjacency of a release that is not a round: the given one or, if none is given,
// that of the event or add-or-remove, unless there are rounds with another usual one. Some events of dp_accounting are
// defined for one adjacency.
func adjacencyOf(e dp.Event, all []dp.Event, given dp.Adjacency) (dp.Adjacency, error) {
	if given == "" {
		given = cmp.Or(e.Adjacency, dp.AddOrRemove)
		for _, o := range all {
			if usual := dp.NaturalAdjacency(o.Sampling); o.Other == "" && o.Sampling != "" && usual != given {
				return "", fmt.Errorf("adjacency is missing: what a release with mechanism %s costs depends on it, and %s sampling "+
					"implies %s", e.Other, o.Sampling, usual)
			}
		}
	}
	if own := cmp.Or(e.Adjacency, given); given != own {
		return "", fmt.Errorf("a release with mechanism %s under %s adjacency, must be under %s, for which dp_accounting defines its "+
			"event: %w", e.Other, given, own, dp.ErrNotCovered)
	}
	return given, nil
}

// mechanisms are the names of the accountants of Opacus. They have the same history.
var mechanisms = []string{"rdp", "prv", "gdp"}

// readOpacus reads {"history": [[σ, q, steps], …], "mechanism": "rdp"}, as returned by state_dict() of
// an accountant, or only the history.
func readOpacus(text []byte) ([]dp.Event, error) {
	text = bytes.TrimSpace(text)
	var state struct {
		History   []json.RawMessage `json:"history"`
		Mechanism *string           `json:"mechanism"`
	}
	if bytes.HasPrefix(text, []byte("[")) {
		if err := strictjson.Decode(text, &state.History); err != nil {
			return nil, err
		}
	} else if err := strictjson.Decode(text, &state); err != nil {
		return nil, err
	}
	if m := state.Mechanism; m != nil && !slices.Contains(mechanisms, *m) {
		return nil, fmt.Errorf("mechanism = %q, must be one of %s: %w", *m, strings.Join(mechanisms, ", "),
			dp.ErrNotCovered)
	}
	if len(state.History) == 0 {
		return nil, errors.New("history is empty: nothing was released")
	}
	var events []dp.Event
	var errs []error
	for i, row := range state.History {
		e, err := opacusRounds(row)
		if err != nil {
			errs = append(errs, fmt.Errorf("history[%d]: %w", i, err))
			continue
		}
		events = append(events, e)
	}
	return events, errors.Join(errs...)
}

// opacusRounds reads [σ, q, steps].
func opacusRounds(row json.RawMessage) (dp.Event, error) {
	var numbers []float64
	if err := strictjson.Decode(row, &numbers); err != nil {
		return dp.Event{}, err
	}
	if len(numbers) != 3 {
		return dp.Event{}, fmt.Errorf("%d numbers, must be noise multiplier, sample rate and steps", len(numbers))
	}
	count, err := wholeNumber("steps", numbers[2])
	if numbers[1] == 0 {
		err = errors.Join(errors.New("sample rate = 0, must be in (0, 1]"), err)
	}
	return dp.Event{NoiseMultiplier: numbers[0], Rate: drawnRate(numbers[1]), Count: count}, err
}

// drawnRate returns the probability with which Opacus draws a record at the given rate. Opacus draws a
// record if a number from torch.rand is below the rate, and these numbers are the multiples of 2^-24
// below 1. Invalid rates are returned unchanged.
func drawnRate(rate float64) float64 {
	if !(rate > 0 && rate <= 1) {
		return rate
	}
	return math.Ceil(rate*(1<<24)) / (1 << 24)
}

// wholeNumber returns v as an integer. Counts may have been written as 100.0.
func wholeNumber(name string, v float64) (int, error) {
	n, ok := decimal.Whole(v)
	if !ok || n < 1 || float64(n) != v {
		return 0, fmt.Errorf("%s = %v, must be a whole number in [1, 2^53]", name, v)
	}
	return n, nil
}
