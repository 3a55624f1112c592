// Package libraries carries plans to other libraries of private training, and what these
// recorded back: [Write] writes the code that runs a planned release with Opacus, TF
// Privacy, JAX Privacy or Flower, or the words for a paper, and [Read] reads the states of
// their accountants.
//
// Code is ready to run: it has every number of the plan, says with which version of the
// library it was tried and how, and what differs there. What a library cannot run as it
// was planned is refused by name.
package libraries

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
)

// Format is a form that a release is written in.
type Format string

// The formats.
const (
	Opacus     Format = "opacus"      // Python with PyTorch
	TFPrivacy  Format = "tf-privacy"  // Python with TensorFlow
	JAXPrivacy Format = "jax-privacy" // Python with JAX
	Flower     Format = "flower"      // Python: clients of a federation that train with Opacus
	LaTeX      Format = "latex"       // a paragraph and a table for a paper
)

// Formats lists all formats, code first.
func Formats() []Format { return []Format{Opacus, TFPrivacy, JAXPrivacy, Flower, LaTeX} }

// ParseFormat turns a name into a Format.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	names := make([]string, len(Formats()))
	for i, f := range Formats() {
		names[i] = fmt.Sprintf("%q", f)
	}
	return "", fmt.Errorf("format = %q, must be %s", name, strings.Join(names, ", "))
}

// Release is what is to be run: equal rounds, and what they cost.
type Release struct {
	Event dp.Event // the rounds of one client; σ > 0
	Bound dp.Bound // what a record pays for all rounds that use it
	// Holders is how many clients hold each record and release such rounds of it; 0 is 1.
	Holders int
	// Notes are what the reports of the rounds say besides of their ε, see plan.History.
	Notes []string
}

// OfPlan returns the release of a plan, or an error that wraps dp.ErrNotCovered if there
// is nothing to run or no guarantee to state.
func OfPlan(p *plan.Plan) (Release, error) {
	if p == nil {
		return Release{}, errors.New("no Plan")
	}
	if p.Run == nil {
		return Release{}, fmt.Errorf("the plan is not feasible, there is nothing to run: %w",
			dp.ErrNotCovered)
	}
	e := p.Events()[0]
	if e.SampleSize != p.Run.SampleSize {
		return Release{}, fmt.Errorf("theta = %v, must be 1: the code samples at one rate in all rounds: %w",
			p.Theta, dp.ErrNotCovered)
	}
	holders := e.Count / p.Run.Rounds
	e.Count = p.Run.Rounds
	r := Release{Event: e, Bound: *p.PerRecord, Holders: holders}
	return r, r.check()
}

// OfEvents returns the release of rounds that bound is of, with what their reports say besides;
// the rounds must be equal.
func OfEvents(events []dp.Event, bound dp.Bound, notes ...string) (Release, error) {
	if len(events) != 1 {
		return Release{}, fmt.Errorf("rounds of %d kinds, must be of one: the code has one noise "+
			"multiplier and one sample rate: %w", len(events), dp.ErrNotCovered)
	}
	r := Release{Event: events[0], Bound: bound, Notes: notes}
	return r, r.check()
}

// check refuses what no code may be written for: without noise or without a guarantee.
func (r Release) check() error {
	var errs []error
	if err := r.Event.Validate(); err != nil {
		errs = append(errs, err)
	}
	if _, ok := decimal.Product(r.Event.Count, max(r.Holders, 1)); !ok {
		errs = append(errs, fmt.Errorf("%d rounds of each of %d holders, must be at most 2^63-1 together",
			r.Event.Count, r.Holders))
	}
	if r.Event.NoiseMultiplier == 0 {
		errs = append(errs, fmt.Errorf("noise multiplier = 0, must be above 0: %w", dp.ErrNotCovered))
	}
	if _, err := r.Event.Scheme(); errors.Is(err, dp.ErrNotCovered) { // Validate reports unknown names
		errs = append(errs, err)
	}
	if r.Holders > 1 && r.Event.Sampling == dp.Shuffle {
		errs = append(errs, fmt.Errorf("shuffled batches of %d clients that hold a record, must be of one: each "+
			"client begins its epochs for itself: %w", r.Holders, dp.ErrNotCovered))
	}
	switch b := r.Bound; {
	case b.Kind == "":
		errs = append(errs, errors.New("bound is missing, must be an accountant's of the rounds"))
	case b.Sampling != r.Event.Sampling || b.Adjacency != r.Event.Adjacency:
		errs = append(errs, fmt.Errorf("the bound is for %s sampling under %s adjacency, must be for that of "+
			"the rounds, %s under %s", b.Sampling, b.Adjacency, r.Event.Sampling, r.Event.Adjacency))
	case b.Kind == dp.Approximation:
		errs = append(errs, fmt.Errorf("by %s there is no guarantee, only an approximation: %w",
			b.Accountant, dp.ErrNotCovered))
	case b.Kind != dp.Exact && b.Kind != dp.Interval && b.Kind != dp.Upper:
		errs = append(errs, fmt.Errorf("kind of bound = %q, must be %q, %q or %q", b.Kind, dp.Exact,
			dp.Interval, dp.Upper))
	case math.IsInf(b.EpsilonUpper, 1):
		errs = append(errs, fmt.Errorf("%s proves no upper end of ε: %w", b.Accountant, dp.ErrNotCovered))
	}
	return errors.Join(errs...)
}

// Code is a release in a format.
type Code struct {
	Format  Format   `json:"format"`
	Library string   `json:"library"`           // with its version
	Tried   string   `json:"tried"`             // how the code was tried
	Caveats []string `json:"caveats,omitempty"` // what differs from the plan there
	Text    string   `json:"text"`
}

// Write returns r in the format. The error wraps dp.ErrNotCovered if the library does not
// run such a release.
func Write(f Format, r Release) (Code, error) {
	if err := r.check(); err != nil {
		return Code{}, err
	}
	if f == LaTeX {
		return writeLaTeX(r), nil
	}
	w, ok := writers[f]
	if !ok {
		_, err := ParseFormat(string(f))
		return Code{}, err
	}
	return w.write(f, r)
}

// All returns r in every format that takes it.
func All(r Release) ([]Code, error) {
	var all []Code
	for _, f := range Formats() {
		c, err := Write(f, r)
		if errors.Is(err, dp.ErrNotCovered) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
