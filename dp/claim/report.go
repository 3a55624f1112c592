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

// View is one side of the closed form's claim in a report.
type View struct {
	EpsilonUpper *float64 `json:"epsilon_upper"`
	Delta        float64  `json:"delta"`
	Kind         dp.Kind  `json:"kind,omitempty"` // absent where no ε is claimed
	DatasetSize  int      `json:"dataset_size"`
	Rounds       int      `json:"rounds"`
	GradComps    int      `json:"grad_computations"`
	SampleRate   float64  `json:"sample_rate"` // mean over the rounds; 0 without any
	Reason       string   `json:"reason,omitempty"`
}

// Report is what a training guarantees, for a record as it was really held (the
// flat keys and per_record) and within one client's data (per_client): by the
// closed form, which is what the paper states, and certified by package pld,
// which is tight. Both account the same release.
type Report struct {
	EpsilonUpper    *float64     `json:"epsilon_upper"`
	Delta           float64      `json:"delta"`
	NoiseMultiplier float64      `json:"noise_multiplier"`
	Accountant      string       `json:"accountant"`
	Kind            dp.Kind      `json:"kind,omitempty"` // absent where no ε is claimed
	Adjacency       dp.Adjacency `json:"adjacency"`
	Sampling        dp.Sampling  `json:"sampling"`
	Reason          string       `json:"reason,omitempty"`
	PerClient       View         `json:"per_client"`
	PerRecord       View         `json:"per_record"`
	Certified       Privacy      `json:"certified"`
	// Noise names the roots of the clients' noise, each once; Simulation says that one
	// of them is a numbered seed, so that nothing is protected.
	Noise      []rng.Name `json:"noise,omitempty"`
	Simulation bool       `json:"simulation,omitempty"`
	// Sum says what is known of the sensitivity of the sums as they are computed, and
	// is set by whoever knows the model.
	Sum string `json:"sum,omitempty"`
	// Drawn says how samples and noise are drawn, see [Drawn], and is set by whoever knows the
	// mechanism.
	Drawn string `json:"drawn,omitempty"`
}

// Drawn says how samples and noise from roots of the names are drawn, exactly or not, as a
// statement of privacy should: of a simulation, of which nothing is protected, only if they
// are exact.
func Drawn(exact bool, names []rng.Name) string {
	switch {
	case exact:
		return "exactly, by whole numbers: sum and noise are on a lattice, and low bits tell nothing"
	case slices.ContainsFunc(names, rng.Name.Simulated):
		return ""
	}
	return "in floating point: low bits of a release can tell records apart, which no ε counts; --exact draws exactly"
}

// NewReport reports on a release with noise multiplier sigma ≥ 0, from the roots of the
// names given, of which account says what an accountant claims: it is asked for two.
func NewReport(sigma float64, noise []rng.Name, account func(dp.Accountant) (Privacy, error)) (Report, error) {
	if account == nil {
		return Report{}, errors.New("no function that accounts")
	}
	closed, err := account(closedform.Accountant{})
	if err != nil {
		return Report{}, err
	}
	certified, err := account(pld.Accountant{})
	if err != nil {
		return Report{}, err
	}
	r := closed.PerRecord
	return Report{
		EpsilonUpper: r.EpsilonUpper, Delta: r.Delta, Accountant: r.Accountant, Kind: r.Kind,
		NoiseMultiplier: sigma, Adjacency: r.Adjacency, Sampling: r.Sampling, Reason: r.Reason,
		PerClient: closed.PerClient.view(), PerRecord: closed.PerRecord.view(), Certified: certified,
		Noise: noise, Simulation: slices.ContainsFunc(noise, rng.Name.Simulated),
	}, nil
}

// Within reports on rounds that were chosen by what was released before them, all within
// the bound b on a record, which was fixed beforehand: an upper bound, for one client's
// rounds as for all. The noise multiplier is the least of the events, of which there is at
// least one.
func Within(b dp.Bound, events []dp.Event) Report {
	noise, _ := dp.Names(events)
	least, zero := math.Inf(1), 0.0
	c := Claim{EpsilonLower: &zero, Epsilon: &b.EpsilonUpper, EpsilonUpper: &b.EpsilonUpper, Delta: b.Delta,
		Kind: dp.Upper, Accountant: b.Accountant, Adjacency: b.Adjacency, Sampling: b.Sampling}
	for _, e := range events {
		least = min(least, e.NoiseMultiplier)
		c.DatasetSize = e.DatasetSize
		c.Rounds = plus(c.Rounds, e.Count)
		c.GradComps = plus(c.GradComps, times(e.Count, e.SampleSize))
	}
	return Report{
		EpsilonUpper: c.EpsilonUpper, Delta: c.Delta, Accountant: c.Accountant, Kind: c.Kind, NoiseMultiplier: least,
		Adjacency: c.Adjacency, Sampling: c.Sampling, PerClient: c.view(), PerRecord: c.view(),
		Certified: Privacy{PerClient: c, PerRecord: c}, Noise: noise,
		Simulation: slices.ContainsFunc(noise, rng.Name.Simulated),
	}
}

func (c Claim) view() View {
	v := View{
		EpsilonUpper: c.EpsilonUpper, Delta: c.Delta, Kind: c.Kind, DatasetSize: c.DatasetSize,
		Rounds: c.Rounds, GradComps: c.GradComps, Reason: c.Reason,
	}
	if c.Rounds > 0 && c.DatasetSize > 0 {
		v.SampleRate = float64(c.GradComps) / float64(c.Rounds) / float64(c.DatasetSize)
	}
	return v
}
