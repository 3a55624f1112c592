package dist

import (
	"context"
	"fmt"
	"io"
	"time"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// Statement is what a client's own rounds cost, by what its ledger counts: it alone knows
// that all of its releases are in it.
type Statement = claim.Report

// Planned states what all rounds of the run would cost one client's records, before it
// joins.
func Planned(ctx context.Context, p *train.Prepared) (Statement, error) {
	m := &p.Config.Mechanism
	return state(ctx, p, m.Events(p.Config.Run().Rounds), nil)
}

// state states what one client's events cost.
func state(ctx context.Context, p *train.Prepared, events []dp.Event, names []rng.Name) (Statement, error) {
	return claim.NewReport(p.Config.Mechanism.NoiseMultiplier, names, func(acc dp.Accountant) (claim.Privacy, error) {
		one, err := claim.Of(ctx, acc, events, p.Delta)
		return claim.Privacy{PerClient: one, PerRecord: one}, err
	})
}

// report says what the client did.
func (c *client) report(ctx context.Context) (*JoinReport, error) {
	l := c.ledger()
	ledger, err := l.ledger(c.Client, c.mechanism(), c.about.Rounds)
	if err != nil {
		return nil, err
	}
	events := ledger.Events()
	names, _ := dp.Names(events)
	statement, err := state(context.WithoutCancel(ctx), c.prepared, events, names)
	if err != nil {
		return nil, err
	}
	lags := sim.Staleness(l.Lags)
	return &JoinReport{
		Run: c.about.Run, Client: c.Client, Rounds: c.about.Rounds, Records: l.Records, MaxLag: lags.Max(),
		MeanLag: lags.Mean(), Sent: l.Sent, Resent: l.Resent, Lives: c.journal.Lives(),
		Seconds: time.Since(c.begun).Seconds(), Release: dp.Releases(events), Privacy: statement,
	}, nil
}

// WriteText writes the report for people to read.
func (r *JoinReport) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, `client          %d of run %s
rounds          %d of %s, at most %d behind, %.4g on average
sent            %s, %s sent again, %s of the journal
`, r.Client, r.Run, r.Rounds, decimal.Many(r.Records, "record"), r.MaxLag, r.MeanLag, bytesText(r.Sent),
		decimal.Many(r.Resent, "update"), decimal.Many(r.Lives, "opening"))
	if err != nil {
		return err
	}
	return r.Privacy.WriteText(w)
}
