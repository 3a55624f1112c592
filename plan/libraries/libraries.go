// Package libraries exchanges plans with Python libraries for private training. [Write] writes code that runs a
// plan with Opacus, TF Privacy, JAX Privacy or Flower, LaTeX text for a paper, or a record of the rounds for the
// accountants of Opacus and dp_accounting. [Read] reads the saved states of these accountants.
//
// Code in the full formats is ready to run and contains every number of the plan. It names the version of the library,
// says how it was tried, and lists the differences from ProactiveDP. A plan that a library cannot run
// is refused, and the error names the reason.
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

// Format names the form in which [Write] writes a [Release]: code for a library, a record for its accountant, or
// LaTeX.
type Format string

// These are the values of [Format] for code that you can run or add to your own, and for LaTeX. [Records] lists the
// others.
const (
	Opacus     Format = "opacus"      // Python code for Opacus, with PyTorch
	TFPrivacy  Format = "tf-privacy"  // Python code for TF Privacy, with TensorFlow
	JAXPrivacy Format = "jax-privacy" // Python code for JAX Privacy, with JAX
	Flower     Format = "flower"      // Python code for Flower: clients of a federation that train with Opacus
	LaTeX      Format = "latex"       // a paragraph and a table for a paper, in LaTeX

	// The short formats (OpacusShort, TFPrivacyShort and JAXPrivacyShort) are only the few lines to add to a training
	// loop that you already have. The loop keeps its optimizer.
	OpacusShort     Format = "opacus-short"
	TFPrivacyShort  Format = "tf-privacy-short"
	JAXPrivacyShort Format = "jax-privacy-short"
)

// Formats returns all formats in which [Write] writes Python code, and LaTeX as the last. The formats that it does not
// return are records of rounds: see [Records].
func Formats() []Format {
	return []Format{Opacus, OpacusShort, TFPrivacy, TFPrivacyShort, JAXPrivacy, JAXPrivacyShort, Flower, LaTeX}
}

// ParseFormat returns the Format with the given name. The error for an unknown name lists all names.
func ParseFormat(name string) (Format, error) {
	all := append(Formats(), Records()...)
	if f := Format(name); slices.Contains(all, f) {
		return f, nil
	}
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = fmt.Sprintf("%q", f)
	}
	return "", fmt.Errorf("format = %q, must be %s", name, strings.Join(names, ", "))
}

// Release is the input of [Write]: the rounds of a training, and the ε that they cost a record. [OfPlan] makes a
// Release from a plan, and [OfEvents] from any events.
type Release struct {
	Event dp.Event // the rounds of one client, with equal settings; σ must be above 0
	// More are the rounds after Event, if the training changes its settings: one event for each further phase. The
	// formats [Flower] and [LaTeX] do not support More. For the formats that [Records] lists, Event and More may also
	// describe published results other than rounds, such as a noisy count (see dp.Event.Other).
	More  []dp.Event
	Bound dp.Bound // bound on the ε of a record, over all rounds that use it
	// Holders is the number of clients that hold each record. Each of them runs the rounds of Event and More, and a
	// record pays for all of them. 0 means 1.
	Holders int
	// Clients is the number of clients of a federation, for the format [Flower]. 0 and 1 mean that it is not known.
	Clients int
	// Notes are warnings about the rounds, such as those of a plan.History, for example about data that ε does not
	// cover. [Write] copies them into the Python code or LaTeX text that it writes, next to the statement about ε.
	Notes []string
}

// OfPlan returns the rounds of a plan as a [Release]. It returns an error that wraps dp.ErrNotCovered if no training
// meets the plan's budget (p.Run is nil), if no ε is proved for the plan, or if its batch sizes vary.
func OfPlan(p *plan.Plan) (Release, error) {
	if p == nil {
		return Release{}, errors.New("no Plan")
	}
	if p.Run == nil {
		return Release{}, fmt.Errorf("the plan is not feasible, so there is nothing to run: %w",
			dp.ErrNotCovered)
	}
	e := p.Events()[0]
	if p.Run.MaxSampleSize != p.Run.SampleSize {
		return Release{}, fmt.Errorf("theta = %v, must be 1: the code samples at one rate in all rounds: %w",
			p.Theta, dp.ErrNotCovered)
	}
	holders := 1
	if p.Shared {
		holders = max(p.Clients, 1)
	}
	e.Count = p.Run.Rounds
	r := Release{Event: e, Bound: *p.PerRecord, Holders: holders, Clients: p.Clients}
	return r, r.check()
}

// OfEvents makes a [Release] of at least one event, for [Write]. bound is a proved upper bound on the ε that these
// events cost a record. notes are warnings about the rounds, usually the Notes of a plan.History. Write copies them
// into the Python code or LaTeX text that it writes.
func OfEvents(events []dp.Event, bound dp.Bound, notes ...string) (Release, error) {
	if len(events) == 0 {
		return Release{}, fmt.Errorf("no rounds: %w", dp.ErrNotCovered)
	}
	r := Release{Event: events[0], More: events[1:], Bound: bound, Notes: notes}
	return r, r.check()
}

// check refuses releases without noise or without a guarantee.
func (r Release) check() error {
	errs := []error{r.checkMore()}
	if err := r.Event.Validate(); err != nil {
		errs = append(errs, err)
	}
	if _, ok := decimal.Product(r.Event.Count, max(r.Holders, 1)); !ok {
		errs = append(errs, fmt.Errorf("%d rounds of each of %d holders, must be at most 2^63-1 together",
			r.Event.Count, r.Holders))
	}
	first := r.Event // of which the bound has the sampling
	if i := slices.IndexFunc(r.More, func(e dp.Event) bool { return e.Other == "" }); first.Other != "" && i >= 0 {
		first = r.More[i]
	}
	if slices.ContainsFunc(slices.Concat(r.More, []dp.Event{r.Event}), func(e dp.Event) bool { return e.Other == "" && e.NoiseMultiplier == 0 }) {
		errs = append(errs, fmt.Errorf("noise multiplier = 0, must be above 0: %w", dp.ErrNotCovered))
	}
	if _, err := first.Scheme(); errors.Is(err, dp.ErrNotCovered) && first.Other == "" { // Validate reports unknown names
		errs = append(errs, err)
	}
	if r.Event.Group > 1 {
		errs = append(errs, fmt.Errorf("group = %d, must be 1: code is for single records: %w", r.Event.Group, dp.ErrNotCovered))
	}
	if r.Holders > 1 && r.Event.Sampling == dp.Shuffle {
		errs = append(errs, fmt.Errorf("shuffled batches of %d clients that hold a record, must be of one "+
			"client: clients do not begin their epochs together: %w", r.Holders, dp.ErrNotCovered))
	}
	switch b := r.Bound; {
	case b.Kind == "":
		errs = append(errs, errors.New("bound is missing, must be an accountant's of the rounds"))
	case b.Sampling != first.Sampling || b.Adjacency != first.Adjacency:
		errs = append(errs, fmt.Errorf("the bound is for %s sampling under %s adjacency, must be for that of "+
			"the rounds, %s under %s", b.Sampling, b.Adjacency, first.Sampling, first.Adjacency))
	case b.Kind == dp.Approximation:
		errs = append(errs, fmt.Errorf("by %s there is no guarantee, only an approximation: %w",
			b.Accountant, dp.ErrNotCovered))
	case b.Kind != dp.Exact && b.Kind != dp.Interval && b.Kind != dp.Upper:
		errs = append(errs, fmt.Errorf("kind of bound = %q, must be %q, %q or %q", b.Kind, dp.Exact,
			dp.Interval, dp.Upper))
	case math.IsInf(b.EpsilonUpper, 1):
		errs = append(errs, fmt.Errorf("%s proves no upper bound on ε: %w", b.Accountant, dp.ErrNotCovered))
	}
	return errors.Join(errs...)
}

// Code is the result of [Write]: a [Release] (rounds and their ε) in one [Format], for example a Python program, with
// notes that a user must know before using it.
type Code struct {
	Format  Format   `json:"format"`
	Library string   `json:"library"`           // name and version of the library that the code uses
	Tried   string   `json:"tried"`             // how this project tested the code
	Caveats []string `json:"caveats,omitempty"` // differences from the plan or from ProactiveDP that the user must know
	Text    string   `json:"text"`              // the code itself
}

// Write returns r as code in the given format. If the library cannot run such a release, it returns an
// error that wraps dp.ErrNotCovered.
func Write(f Format, r Release) (Code, error) {
	if err := r.check(); err != nil {
		return Code{}, err
	}
	if slices.Contains(Records(), f) {
		return writeRecord(f, r)
	}
	if len(r.More) > 0 && (f == LaTeX || f == Flower) {
		return Code{}, fmt.Errorf(severalKinds, 1+len(r.More), f, dp.ErrNotCovered)
	}
	if err := r.checkPhases(f); err != nil {
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

// phases returns all kinds of rounds, in their order.
func (r Release) phases() []dp.Event { return append([]dp.Event{r.Event}, r.More...) }

// checkPhases refuses rounds that no code runs.
func (r Release) checkPhases(f Format) error {
	var errs []error
	for i, e := range r.phases() {
		var err error
		switch {
		case e.Other != "":
			err = fmt.Errorf("mechanism = %s, must be rounds of training for code: %w", e.Other, dp.ErrNotCovered)
		case e.Truncated > 0 && f != LaTeX:
			err = fmt.Errorf("truncated batch size = %d, must not be given for code, which does not cut batches: %w", e.Truncated,
				dp.ErrNotCovered)
		case e.Group > 1:
			err = fmt.Errorf("group = %d, must be 1: code is for single records: %w", e.Group, dp.ErrNotCovered)
		case len(r.More) > 0 && e.Sampling != dp.Poisson:
			err = fmt.Errorf("sampling = %q, must be %q in code for several kinds of rounds: %w", e.Sampling, dp.Poisson,
				dp.ErrNotCovered)
		case e.DatasetSize != r.Event.DatasetSize:
			err = fmt.Errorf("data set size = %d after %d, must be the same in all rounds of a training: %w", e.DatasetSize,
				r.Event.DatasetSize, dp.ErrNotCovered)
		}
		if err != nil && len(r.More) > 0 {
			err = fmt.Errorf("event %d: %w", i, err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// All returns r in every format of [Formats] that can express it, except for the short formats such as [OpacusShort],
// which only have the few lines to add to an existing training loop.
func All(r Release) ([]Code, error) {
	var all []Code
	for _, f := range Formats() {
		if writers[f].complete != "" {
			continue
		}
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

// These formats describe rounds for the accountants of other libraries. They are records and not code: use them to
// let such an accountant compute the ε of a plan. [Read] reads both formats.
const (
	// DPAccounting is the text of a DpEvent, the description of rounds in Google's library dp_accounting, as Python
	// prints it.
	DPAccounting  Format = "dp-accounting"
	OpacusHistory Format = "opacus-history" // the state_dict() of an accountant of Opacus, as JSON
)

// Records returns the formats that are not code but descriptions of rounds for the accountants of other libraries.
func Records() []Format { return []Format{DPAccounting, OpacusHistory} }

// severalKinds is why a format is refused for rounds of several kinds.
const severalKinds = "%d kinds of rounds, must be one for %s; --format " + string(Opacus) + ", " + string(TFPrivacy) + ", " +
	string(JAXPrivacy) + ", " + string(DPAccounting) + " and " + string(OpacusHistory) + " have several: %w"

// checkMore checks the rounds of further kinds.
func (r Release) checkMore() error {
	var errs []error
	sum := float64(r.Event.Count)
	for i, e := range r.More {
		if err := e.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("event %d: %w", i+1, err))
		}
		sum += float64(e.Count)
	}
	if !(sum < math.MaxInt) {
		errs = append(errs, fmt.Errorf("%v rounds, must be at most 2^63-1 together", sum))
	}
	return errors.Join(errs...)
}
