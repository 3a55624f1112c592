package train

import (
	"fmt"
	"io"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
	"proactivedp/sim"
)

// View is one side of the closed form's statement in a report.
type View struct {
	EpsilonUpper *float64 `json:"epsilon_upper"`
	Delta        float64  `json:"delta"`
	Kind         dp.Kind  `json:"kind,omitempty"` // absent where no ε is claimed
	DatasetSize  int      `json:"dataset_size"`
	Rounds       int      `json:"rounds"`
	GradComps    int      `json:"grad_computations"`
	SampleRate   float64  `json:"sample_rate"` // mean over the rounds
	Reason       string   `json:"reason,omitempty"`
}

// PrivacyReport is what a run guarantees, for a record as it was really held
// (the flat keys and per_record) and within one client's data (per_client): by
// the closed form, which is what the paper states, and certified by package pld,
// which is tight. Both account the same release.
type PrivacyReport struct {
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
	Certified       sim.Privacy  `json:"certified"`
}

func view(s sim.Statement) View {
	return View{
		EpsilonUpper: s.EpsilonUpper, Delta: s.Delta, Kind: s.Kind, DatasetSize: s.DatasetSize,
		Rounds: s.Rounds, GradComps: s.GradComps,
		SampleRate: float64(s.GradComps) / float64(s.Rounds) / float64(s.DatasetSize),
		Reason:     s.Reason,
	}
}

// privacy reports on the release that account accounts.
func (p *Prepared) privacy(account func(dp.Accountant) sim.Privacy) PrivacyReport {
	closed := account(closedform.Accountant{})
	r := closed.PerRecord
	return PrivacyReport{
		EpsilonUpper: r.EpsilonUpper, Delta: r.Delta, Accountant: r.Accountant, Kind: r.Kind,
		NoiseMultiplier: p.Config.Mechanism.NoiseMultiplier,
		Adjacency:       r.Adjacency, Sampling: r.Sampling, Reason: r.Reason,
		PerClient: view(closed.PerClient), PerRecord: view(closed.PerRecord),
		Certified: account(pld.Accountant{}),
	}
}

// PlannedPrivacy states what the run will guarantee, before it runs.
func (p *Prepared) PlannedPrivacy() PrivacyReport {
	return p.privacy(func(acc dp.Accountant) sim.Privacy { return p.Config.AccountPlanned(acc, p.Delta) })
}

// ReleasedPrivacy states what a finished run of it guarantees, by what its
// clients released.
func (p *Prepared) ReleasedPrivacy(result *sim.Result) PrivacyReport {
	return p.privacy(func(acc dp.Accountant) sim.Privacy {
		return sim.Account(acc, result.Ledgers, p.Config.Partition, p.Delta)
	})
}

// WriteText writes the report for people to read, ε rounded to the safe side.
func (r PrivacyReport) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "privacy         σ = %g, δ = %.4g, %s adjacency, %s sampling\n%s%s",
		r.NoiseMultiplier, r.Delta, r.Adjacency, r.Sampling,
		r.text("per record", r.PerRecord, r.Certified.PerRecord), r.text("per client", r.PerClient, r.Certified.PerClient))
	return err
}

func (r PrivacyReport) text(name string, closed View, certified sim.Statement) string {
	return fmt.Sprintf("  %-14sN = %d, %d rounds at mean sample rate %.4g\n    %-12s%s\n    %-12s%s\n",
		name, closed.DatasetSize, closed.Rounds, closed.SampleRate,
		r.Accountant, claim(nil, closed.EpsilonUpper, closed.Kind, closed.Reason),
		certified.Accountant, claim(certified.EpsilonLower, certified.EpsilonUpper, certified.Kind, certified.Reason))
}

// kindText is how kinds are called in a sentence.
var kindText = map[dp.Kind]string{dp.Exact: "exact to rounding", dp.Interval: "a certified interval", dp.Upper: "an upper bound"}

// claim says what is known of ε; lower may be nil. reason is why it is not more.
func claim(lower, upper *float64, kind dp.Kind, reason string) string {
	if upper == nil {
		return "no ε claimed: " + reason
	}
	text := fmt.Sprintf("ε ≤ %s, %s", decimal.Up(*upper, 5), kindText[kind])
	if reason != "" {
		text += " " + reason
	}
	if lower != nil && *lower > 0 {
		text = decimal.Down(*lower, 5) + " ≤ " + text
	}
	return text
}
