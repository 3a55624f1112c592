package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/internal/report"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// Statement is the privacy guarantee for the records of one client of a distributed training, as this client computes
// it. The per-client ε counts the rounds in the client's own ledger. The per-record ε also counts the other clients that
// hold the same record. This client does not see their ledgers, so it assumes that each of them releases all rounds of
// the run.
type Statement = claim.Report

// planned returns the guarantee after all rounds of the run, for the records of a client whose
// journal replaces this many lost ones.
func planned(ctx context.Context, p *train.Prepared, replaced int) (Statement, error) {
	m, rounds := &p.Config.Mechanism, p.Config.Run().Rounds
	var l dp.Ledger
	addReplaced(&l, 1+replaced, m, rounds)
	return state(ctx, p, l.Events(), nil)
}

// keepsTarget returns an error if the run costs a record here more than the run's target ε. This
// happens if a client with its own records has fewer than the server assumed when it chose σ.
func keepsTarget(ctx context.Context, p *train.Prepared) error {
	target := p.Spec.TargetEpsilon
	if target == 0 {
		return nil
	}
	s, err := planned(ctx, p, 0)
	if err != nil {
		return err
	}
	cost := s.Certified.PerRecord
	if cost.EpsilonUpper == nil {
		return fmt.Errorf("target epsilon = %v: no ε can be certified: %s", target, cost.Reason)
	}
	if *cost.EpsilonUpper > target {
		return fmt.Errorf("the run's target is ε ≤ %v per record, but each of the %d records here would cost up to %s: the client needs "+
			"more records, or a run with more noise", target, cost.DatasetSize, decimal.Up(*cost.EpsilonUpper, 5))
	}
	return nil
}

// affords returns an error if the run could cost a record of this client more than MaxEpsilon. All
// rounds of the lost journals that its journal replaces count.
func (c *client) affords(ctx context.Context) error {
	// The planned statement assumes the planned sizes and one mechanism, so the run must have no
	// others.
	if err := c.prepared.Config.CheckFreeRunning(); err != nil {
		return err
	}
	if c.prepared.Config.Own != nil {
		return errors.New("clients have different mechanisms, must have one for all")
	}
	if own := c.prepared.Test.Data == nil; own && c.MaxEpsilon == 0 {
		return errors.New("max-epsilon is missing: a client that trains on its own records must give the " +
			"largest ε that one of them may cost (JoinOptions.MaxEpsilon)")
	}
	if math.IsInf(c.MaxEpsilon, 1) {
		return nil
	}
	p := *c.prepared
	p.Delta = min(p.Delta, 1/float64(p.Config.Mechanism.DatasetSize))
	replaced := c.journal.Replaced()
	if c.Replace {
		replaced = max(replaced, 1)
	}
	s, err := planned(ctx, &p, replaced)
	if err != nil {
		return err
	}
	with := message.When(replaced > 0, ", with all rounds of %s", decimal.Many(replaced, "lost journal"))
	most := message.When(c.MaxEpsilon != 0, "max-epsilon = %v: ", c.MaxEpsilon)
	cost := s.Certified.PerRecord
	if cost.EpsilonUpper == nil || math.IsInf(*cost.EpsilonUpper, 0) {
		return fmt.Errorf("%sno ε can be certified for the run: %s; --max-epsilon any (MaxEpsilon = +Inf in Go) "+
			"joins it anyway, but then gradients may be released without protection", most, cost.Reason)
	}
	if c.MaxEpsilon != 0 && *cost.EpsilonUpper > c.MaxEpsilon {
		return fmt.Errorf("%sthe run would cost a record here ε ≤ %s at δ = %s%s, so this client does not join. "+
			"Give a larger max-epsilon, or join a run with more noise or fewer rounds", most,
			decimal.Up(*cost.EpsilonUpper, 5), decimal.Exactly(p.Delta), with)
	}
	return nil
}

// showCost calls Agree with the cost of all rounds, so that the user can refuse the run.
func (c *client) showCost(ctx context.Context) error {
	if c.Agree == nil {
		return nil
	}
	c.server.pause() // the client does not ask the server in that time
	defer c.server.heard()
	s, err := planned(ctx, c.prepared, c.journal.Replaced())
	if err != nil {
		return err
	}
	return c.Agree(c.about, s)
}

// state returns the guarantee for one client's events, which are those of all its rounds.
func state(ctx context.Context, p *train.Prepared, events []dp.Event, names []rng.Name) (Statement, error) {
	m := p.Config.Mechanism
	r, err := claim.NewReport(m.NoiseMultiplier, names, func(acc dp.Accountant) (claim.Privacy, error) {
		return claim.OfClients(ctx, acc, events, p.Config.Clients(), shares(p), p.Delta)
	})
	r.Drawn = claim.Drawn(m.Exact, names)
	return r, err
}

// shares reports whether all clients of the run hold the same records as this client. They do if
// the run's data set is replicated. They do not if the client has its own records.
func shares(p *train.Prepared) bool {
	own := slices.ContainsFunc(p.Config.Rows, func(rows data.Subset) bool { return rows.Data == nil })
	return !own && !p.Config.Partition.Disjoint()
}

// report makes the client's report.
func (c *client) report(ctx context.Context) (*JoinReport, error) {
	l := c.ledger()
	ledger, err := l.ledger(c.Client, c.mechanism(), c.about.Rounds)
	if err != nil {
		return nil, err
	}
	events := ledger.Events()
	names, _ := dp.Names(events)
	anonymous := ledger.Named(dp.Noise{}) // because the others' noise comes from their own secrets
	addReplaced(&anonymous, l.Replaced, c.mechanism(), c.about.Rounds)
	statement, err := state(context.WithoutCancel(ctx), c.prepared, anonymous.Events(), names)
	if err != nil {
		return nil, err
	}
	lags := sim.Staleness(l.Lags)
	return &JoinReport{
		Run: c.about.Run, Client: c.Client, Rounds: c.about.Rounds - l.First, Records: l.Records, MaxLag: lags.Max(),
		MeanLag: lags.Mean(), Sent: l.Sent, Resent: l.Resent, Lives: c.journal.Lives(),
		Seconds: time.Since(c.begun).Seconds(), Release: dp.Releases(events), Privacy: statement,
		Notes: append(slices.Concat(notesOf(c.prepared), replacedNote(c.Client, l.Replaced)),
			olderCopies(c.about.Rounds)),
	}, nil
}

// notesOf returns the notes of the client's report. If the client uses the run's data, these are all
// notes of the server's report. With its own records, they are those that do not depend on the data
// set.
func notesOf(p *train.Prepared) []string {
	spec, notes := train.Spec{Runner: p.Spec.Runner}, []string(nil)
	if d := p.Test.Data; d != nil {
		spec = p.Spec
		if d.Note != "" {
			notes = []string{d.Note}
		}
	}
	return slices.Concat(notes, holders(p), spec.Notes())
}

// holders returns a note about the releases of other clients that hold a record, for which it pays too. If all hold it,
// a reader could otherwise think that this client's releases are all. If the client has its own records, it cannot know
// who else has them.
func holders(p *train.Prepared) []string {
	n := p.Config.Clients()
	switch {
	case n == 1:
		return nil
	case shares(p):
		return []string{fmt.Sprintf("each record is held by all %d clients, and these are the releases of one", n)}
	case p.Test.Data == nil:
		return []string{ownHolders}
	}
	return nil
}

// ownHolders is the note for records that only their client sees.
const ownHolders = "(ε, δ) of a record counts the rounds of one client: a record that several clients bring (join --records) " +
	"pays for the rounds of all of them"

// WriteStatement writes the full privacy statement of everything that the client released.
func (r *JoinReport) WriteStatement(w io.Writer) error { return r.Privacy.WriteStatement(w) }

// WriteText writes the report as text for people: what the client released, what it costs its records, and how much
// was sent.
func (r *JoinReport) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, `client          %d of run %s
rounds          %d of %s, at most %d behind, %.4g on average
sent            %s, %s sent again, %s of the journal
`, r.Client, r.Run, r.Rounds, decimal.Many(r.Records, "record"), r.MaxLag, r.MeanLag, bytesText(r.Sent),
		decimal.Many(r.Resent, "update"), decimal.Many(r.Lives, "opening"))
	if err := errors.Join(err, report.WriteNotes(w, r.Notes)); err != nil {
		return err
	}
	return r.Privacy.WriteText(w)
}
