package audit

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
)

// Report is the result of [Run], an audit with several probes: small trainings that run with and without one record.
// EpsilonLowerBound is the measured ε and EpsilonUpper the claimed one, of the probe whose lower bound comes closest
// to its claim. Probes has the results of all probes. Report.Alarm is the verdict.
//
// The methods of a Report that Run did not make return an error or, if they have no error result,
// may panic.
type Report struct {
	EpsilonLowerBound float64 `json:"epsilon_lower_bound"`
	EpsilonUpper      float64 `json:"epsilon_upper"` // claimed upper bound on the ε of a record
	// Violated says whether EpsilonLowerBound exceeds EpsilonUpper. The claimed ε is then wrong.
	Violated bool `json:"violated"`
	// Confidence is the probability with which all lower bounds in the report are at most the true ε.
	Confidence float64 `json:"confidence"`
	Delta      float64 `json:"delta"`
	Probe      string  `json:"probe"`
	Fault      Fault   `json:"fault"`
	// FaultSize says how strong the planted fault was, see Options.FaultSize. It is 0 if the fault has no size.
	FaultSize float64 `json:"fault_size"`
	Runner    Runner  `json:"runner"`
	// Exact says whether batches and noise were drawn by exact integer arithmetic, see Options.Exact.
	Exact      bool         `json:"exact,omitempty"`
	Seed       uint64       `json:"seed"`
	Runs       int          `json:"runs"` // number of trainings as requested, see Options.Runs
	Adjacency  dp.Adjacency `json:"adjacency"`
	Sampling   dp.Sampling  `json:"sampling"`
	Accountant string       `json:"accountant"` // name of the accountant that computed EpsilonUpper
	Kind       dp.Kind      `json:"kind"`       // what EpsilonUpper guarantees, see dp.Kind
	// LowerKind is always "statistical": a lower bound holds with the stated confidence, not with certainty.
	LowerKind string `json:"lower_kind"`
	// Tests is the number of bounds and checks among which the probability of error, 1 - Confidence, is divided.
	Tests   int       `json:"tests"`
	Probes  []Finding `json:"probes"`
	Checks  []Check   `json:"checks"`
	Failed  int       `json:"failed"` // number of Checks that failed
	Seconds float64   `json:"seconds"`
}

// Alarm is the verdict of the audit: it reports whether the mechanism is not the claimed one, because a claimed ε is
// refuted or a check failed. If it returns false, nothing is proved.
func (r *Report) Alarm() bool { return r.Violated || r.Failed > 0 }

func newReport(o Options, a *audit, all []Finding, checks []Check, took time.Duration) *Report {
	failed := 0
	for _, c := range checks {
		if c.Failed {
			failed++
		}
	}
	best := all[0]
	for _, p := range all[1:] {
		if p.reached() > best.reached() {
			best = p
		}
	}
	return &Report{
		EpsilonLowerBound: best.EpsilonLowerBound, EpsilonUpper: best.EpsilonUpper, Violated: best.Violated,
		Confidence: o.Confidence, Delta: best.Delta, Probe: best.Probe,
		Fault: o.Fault, FaultSize: o.size(), Runner: o.Runner, Exact: o.Exact, Seed: o.Seed,
		Runs:      o.Runs,
		Adjacency: best.Adjacency, Sampling: best.Sampling, Accountant: best.Accountant, Kind: best.Kind,
		LowerKind: statistical,
		Tests:     a.tests, Probes: all, Checks: checks, Failed: failed, Seconds: took.Seconds(),
	}
}

// WriteText writes the report as text for people: the lower bound on ε from each probe (a small training that ran
// many times), the failed checks, and the verdict.
func (r *Report) WriteText(w io.Writer) error {
	if r == nil || r.Fault == "" {
		return errors.New("this Report was not made by Run")
	}
	planted := string(r.Fault)
	if unit := r.Fault.Unit(); unit != "" {
		planted += fmt.Sprintf(" of size %v (%s)", r.FaultSize, unit)
	}
	exactly := ""
	if r.Exact {
		exactly = ", samples and noise drawn exactly"
	}
	fmt.Fprintf(w, "Audit of the mechanism as the runner %s runs it%s; fault planted: %s.\n", r.Runner, exactly,
		planted)
	fmt.Fprintf(w, "%s\n", r.claims())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "probe\tδ\tε at least\tε claimed\tby\truns\tper second\n")
	for _, f := range r.Probes {
		verdict := ""
		if f.Violated {
			verdict = "\tVIOLATED"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d\t%.0f%s\n", f.Probe,
			decimal.Exactly(f.Delta), // the δ at which ε is bounded from both sides
			decimal.Down(f.EpsilonLowerBound, shownDigits),
			decimal.Up(f.EpsilonUpper, shownDigits), f.by(), f.Runs, f.RunsPerSecond, verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := r.writeChecks(w); err != nil {
		return err
	}
	conclusion := "No violation was found. This proves nothing: the claimed ε is proved, not measured."
	switch {
	case r.Violated:
		conclusion = fmt.Sprintf("VIOLATED: at δ = %s ε is at least %s, not at most %s as claimed (probe %s).",
			decimal.Exactly(r.Delta), decimal.Down(r.EpsilonLowerBound, shownDigits),
			decimal.Up(r.EpsilonUpper, shownDigits), r.Probe)
	case r.Failed > 0:
		conclusion = "NOT AS CLAIMED: what is sent differs from the mechanism that is accounted for. This does " +
			"not bound ε."
	case r.Fault != NoFault:
		conclusion = "No violation was found: the planted fault was missed. More runs find smaller faults."
	}
	_, err := fmt.Fprintf(w, "\n%s\nAll %d bounds and checks hold together with a confidence of %.10g %%. %.1f s.\n",
		conclusion, r.Tests, 100*r.Confidence, r.Seconds)
	return err
}

// claims returns the adjacency, the sampling and the accountant of the claims: those of the first
// probe, then those of each probe that differs.
func (r *Report) claims() string {
	about := func(f Finding) string {
		whom := "record"
		if f.Group > 0 {
			whom = fmt.Sprintf("person with %d records", f.Group)
		}
		return fmt.Sprintf("%s adjacency, %s sampling; claimed per %s by %s.\n", f.Adjacency, f.Sampling, whom,
			f.Accountant)
	}
	first := about(r.Probes[0])
	text := first
	for _, f := range r.Probes[1:] {
		if own := about(f); own != first {
			text += f.Probe + ": " + own
		}
	}
	return text
}

// writeChecks writes how many checks failed, and the first of them.
func (r *Report) writeChecks(w io.Writer) error {
	fmt.Fprintf(w, "\n%d of %d checks of the messages failed.\n", r.Failed, len(r.Checks))
	if r.Failed == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "world\tcheck\tsees\tmeasured\texpected\tp-value\n")
	shown := 0
	for _, c := range r.Checks {
		if !c.Failed {
			continue
		}
		if shown++; shown > shownChecks {
			fmt.Fprintf(t, "…\n")
			break
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4g\t%.4g\t%s\n", c.World, c.Name, c.Sees, c.Value, c.Expected,
			decimal.Up(c.PValue, 1))
	}
	return t.Flush()
}

// shownChecks is the largest number of failed checks that are shown.
const shownChecks = 10

const shownDigits = 4
