package claim

import (
	"errors"
	"math"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/rng"
)

// View is a [Claim] as a [Report] has it, without the names that the report gives once for all its claims
// (accountant, adjacency, sampling). SampleRate is added. The other fields are the same as in Claim.
type View struct {
	EpsilonLower *float64 `json:"epsilon_lower"`
	Epsilon      *float64 `json:"epsilon"`
	EpsilonUpper *float64 `json:"epsilon_upper"`
	Delta        float64  `json:"delta"`
	// Kind says what ε guarantees, such as dp.Interval. It is absent in JSON if no ε is claimed.
	Kind        dp.Kind `json:"kind,omitempty"`
	Group       int     `json:"group,omitempty"` // k if ε protects a person with up to k records; otherwise 0
	DatasetSize int     `json:"dataset_size"`
	Rounds      int     `json:"rounds"`
	GradComps   int     `json:"grad_computations"`
	// SampleRate is the mean over rounds of the probability that a record is used. It is 0 if there are no rounds, or if
	// the batch sizes or the number of records are not known.
	SampleRate float64 `json:"sample_rate"`
	Reason     string  `json:"reason,omitempty"`
}

// ClosedForm is the part of a [Report] with the claims, per client and per record, that the paper's Theorem simpleF
// proves (see closedform.Accountant). The fields before PerClient repeat those of PerRecord and name the accountant.
type ClosedForm struct {
	EpsilonUpper *float64 `json:"epsilon_upper"`
	Accountant   string   `json:"accountant"`
	Kind         dp.Kind  `json:"kind,omitempty"` // what ε guarantees, such as dp.Upper; absent in JSON if no ε is claimed
	Reason       string   `json:"reason,omitempty"`
	PerClient    View     `json:"per_client"`
	PerRecord    View     `json:"per_record"`
}

// Report is the privacy of a training, as it is written in JSON. Two accountants make claims about the same rounds:
// Certified has the claims of the tight accountant, package pld, and ClosedForm has those of the paper's Theorem
// simpleF (see closedform.Accountant). PerClient and PerRecord (see [Privacy]) are the claims to publish. They are
// those of pld, or of the theorem if only the theorem covers the training. The fields before PerClient repeat
// PerRecord, and add the noise multiplier of the training and the accountant, adjacency and sampling of the claims to
// publish.
//
// If the rounds were chosen by earlier results, under a budget that was fixed beforehand (an rdp.Filter or a
// closedform.Budget), all claims are the guarantee of that budget instead, and ClosedForm is nil.
type Report struct {
	EpsilonLower    *float64 `json:"epsilon_lower"`
	Epsilon         *float64 `json:"epsilon"`
	EpsilonUpper    *float64 `json:"epsilon_upper"`
	Delta           float64  `json:"delta"`
	NoiseMultiplier float64  `json:"noise_multiplier"`
	Accountant      string   `json:"accountant"`
	// Kind says what ε guarantees, such as dp.Interval. It is absent in JSON if no ε is claimed.
	Kind      dp.Kind      `json:"kind,omitempty"`
	Adjacency dp.Adjacency `json:"adjacency"`
	Sampling  dp.Sampling  `json:"sampling"`
	Group     int          `json:"group,omitempty"` // k if all claims protect a person with up to k records; otherwise 0
	Reason    string       `json:"reason,omitempty"`
	PerClient View         `json:"per_client"`
	PerRecord View         `json:"per_record"`
	// ClosedForm has the claims by the paper's theorem. It is nil if the rounds were chosen by results under a
	// budget.
	ClosedForm *ClosedForm `json:"closed_form,omitempty"`
	Certified  Privacy     `json:"certified"`
	// Noise lists the public names of the seeds or secrets from which the clients drew their noise, each once.
	// Simulation is true if one of them is a numbered seed: whoever knows the number can subtract the noise, so
	// nothing is protected.
	Noise      []rng.Name `json:"noise,omitempty"`
	Simulation bool       `json:"simulation,omitempty"`
	// Sum says in words by how much one record can change the computed sum of gradients, such as "changes by at most C
	// …". The privacy statement writes "each sum" before it. The caller sets it to the result of models.Sensitivity,
	// because it depends on the model.
	Sum string `json:"sum,omitempty"`
	// Drawn says whether samples and noise are drawn exactly or in floating point: the result of the function
	// [Drawn]. The caller sets it, because it depends on the mechanism.
	Drawn string `json:"drawn,omitempty"`
}

// Drawn returns the sentence for [Report].Drawn, for a privacy statement: how samples and noise were drawn. exact says
// whether they were drawn exactly (see dp.Mechanism.Exact); the sentence then says so. Otherwise they were drawn in
// floating point, and the sentence warns that this may reveal something about records. names are the sources of the
// noise. The warning is left out, and the result is "", if one of them is a numbered seed such as seed 1: such a
// training is a simulation that protects nothing, because whoever knows the seed can subtract the noise.
func Drawn(exact bool, names []rng.Name) string {
	switch {
	case exact:
		return "exactly, by integer arithmetic: sum and noise are on a lattice, so low bits reveal nothing"
	case slices.ContainsFunc(names, rng.Name.Simulated):
		return ""
	}
	return "in floating point: low bits of a release may reveal records, which ε does not cover; use --exact for a release"
}

// Closed returns the claims by the paper's Theorem simpleF (see [ClosedForm]), also from a report in the layout of an
// older version. If the report has no such claims, or if the theorem does not cover the training, they have no ε.
func (r Report) Closed() ClosedForm {
	if c := r.Current().ClosedForm; c != nil {
		return *c
	}
	return ClosedForm{}
}

// NewReport returns the report of a training with noise multiplier sigma ≥ 0 and noise from the named sources. You
// pass the function account, which returns the training's claims by a given accountant, for example with [OfLedgers].
// NewReport calls it once with closedform.Accountant, for the paper's Theorem simpleF, and once with pld.Accountant.
func NewReport(sigma float64, noise []rng.Name, account func(dp.Accountant) (Privacy, error)) (Report, error) {
	if account == nil {
		return Report{}, errors.New("account = nil, must be a function")
	}
	closed, err := account(closedform.Accountant{})
	if err != nil {
		return Report{}, err
	}
	certified, err := account(pld.Accountant{})
	if err != nil {
		return Report{}, err
	}
	best := certified
	if certified.PerRecord.EpsilonUpper == nil && closed.PerRecord.EpsilonUpper != nil {
		best = closed
	}
	report := newReport(sigma, noise, best, certified)
	c := closed.PerRecord
	report.ClosedForm = &ClosedForm{EpsilonUpper: c.EpsilonUpper, Accountant: c.Accountant, Kind: c.Kind,
		Reason: c.Reason, PerClient: closed.PerClient.view(), PerRecord: c.view()}
	return report, nil
}

// newReport returns the report whose flat keys, per_client and per_record are those of best.
func newReport(sigma float64, noise []rng.Name, best, certified Privacy) Report {
	r := best.PerRecord
	return Report{
		EpsilonLower: r.EpsilonLower, Epsilon: r.Epsilon, EpsilonUpper: r.EpsilonUpper, Delta: r.Delta,
		NoiseMultiplier: sigma, Accountant: r.Accountant, Kind: r.Kind, Adjacency: r.Adjacency, Sampling: r.Sampling,
		Group: r.Group, Reason: r.Reason, PerClient: best.PerClient.view(), PerRecord: r.view(), Certified: certified,
		Noise: noise, Simulation: slices.ContainsFunc(noise, rng.Name.Simulated),
	}
}

// Current converts a report from the layout of older versions to that of this version. Call it for a report that was
// read from a file. In the older layout, PerClient, PerRecord and the fields that repeat PerRecord have the claims of
// the paper's theorem. Current moves these claims to ClosedForm, and copies those of Certified to their place if pld
// covers the training. It returns other reports unchanged.
func (r Report) Current() Report {
	if r.ClosedForm != nil || r.Accountant != (closedform.Accountant{}).Name() {
		return r
	}
	closed := &ClosedForm{EpsilonUpper: r.EpsilonUpper, Accountant: r.Accountant, Kind: r.Kind, Reason: r.Reason,
		PerClient: r.PerClient, PerRecord: r.PerRecord}
	if c := r.Certified; c.PerRecord.EpsilonUpper != nil || r.EpsilonUpper == nil && c.PerRecord.Accountant != "" {
		current := newReport(r.NoiseMultiplier, r.Noise, c, c)
		current.Sum, current.Drawn = r.Sum, r.Drawn
		r = current
	}
	r.ClosedForm = closed
	return r
}

// Within returns the report of a training whose rounds were chosen by earlier results, under a budget that was fixed
// before the first round (an rdp.Filter or a closedform.Budget). b is the guarantee of that budget. Its upper end is
// reported as the ε of a record, both per client and per record, however little of the budget is spent. events are
// the rounds that ran, at least one; the report has their number and their smallest noise multiplier.
func Within(b dp.Bound, events []dp.Event) Report {
	noise, _ := dp.Names(events)
	least, zero := math.Inf(1), 0.0
	c := Claim{EpsilonLower: &zero, Epsilon: &b.EpsilonUpper, EpsilonUpper: &b.EpsilonUpper, Delta: b.Delta,
		Kind: dp.Upper, Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling}
	for _, e := range events {
		least = min(least, e.NoiseMultiplier)
		c.DatasetSize, c.Group = e.DatasetSize, e.Group
		c.Rounds = plus(c.Rounds, e.Count)
		c.GradComps = plus(c.GradComps, times(e.Count, e.ExpectedSize()))
	}
	both := Privacy{PerClient: c, PerRecord: c}
	return newReport(least, noise, both, both)
}

func (c Claim) view() View {
	v := View{
		EpsilonLower: c.EpsilonLower, Epsilon: c.Epsilon, EpsilonUpper: c.EpsilonUpper, Delta: c.Delta, Kind: c.Kind,
		Group: c.Group, DatasetSize: c.DatasetSize, Rounds: c.Rounds, GradComps: c.GradComps, Reason: c.Reason,
	}
	if c.Rounds > 0 && c.DatasetSize > 0 {
		v.SampleRate = float64(c.GradComps) / float64(c.Rounds) / float64(c.DatasetSize)
	}
	return v
}
