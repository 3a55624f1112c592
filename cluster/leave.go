package cluster

import (
	"context"
	"path/filepath"
	"time"

	"proactivedp/internal/files"
)

// takeLeave waits until the server has saved all rounds, sends the ledger, and returns the report.
func (c *client) takeLeave(ctx context.Context) (*JoinReport, error) {
	c.log.Info("all rounds are released", "rounds", c.about.Rounds)
	for covered := 0; covered < c.about.Rounds; {
		select {
		case a := <-c.heard:
			covered = a.Covered
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	l := c.ledger()
	for {
		a, err := c.hello(ctx, hello{Ledger: l})
		switch {
		case err == nil && a.Farewell:
			return c.end(ctx, l)
		case err != nil && !silent(err):
			return nil, err
		}
		if err := pause(ctx, beat); err != nil {
			return nil, err
		}
	}
}

// end writes the ledger and the report to disk and then says goodbye. The server waits for the
// goodbye, so a client that is killed before the goodbye can start again and ask again.
func (c *client) end(ctx context.Context, l *clientLedger) (*JoinReport, error) {
	r, err := c.report(ctx)
	if err != nil {
		return nil, err
	}
	if err := files.Write(filepath.Join(c.Dir, "ledger.json"), files.JSON(l)); err != nil {
		return nil, err
	}
	if err := files.Write(filepath.Join(c.Dir, reportFile), files.JSON(r)); err != nil {
		return nil, err
	}
	_, _ = c.hello(ctx, hello{Bye: true}) // if the goodbye is lost, the server does not wait long
	return r, nil
}

// ended returns the report of a client that has already finished its part, or nil. It does not need
// the server.
func (c *client) ended() (*JoinReport, error) {
	text, _ := c.journal.Pinned()
	if text == nil {
		return nil, nil
	}
	r, err := readReport[JoinReport](filepath.Join(c.Dir, reportFile))
	if r == nil || err != nil {
		return nil, err
	}
	run, _, _, err := readPinned(text)
	if err != nil || r.Run != run.Run || r.Client != c.Client || c.Run != "" && c.Run != run.Run ||
		c.journal.Next() != run.Rounds {
		return nil, nil // the server will say what is wrong
	}
	c.log.Info("the run has ended before", "run", r.Run)
	return r, nil
}

// ledger returns the client's ledger in message form.
func (c *client) ledger() *clientLedger {
	c.disk.Lock()
	defer c.disk.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	return &clientLedger{
		Records: c.mechanism().DatasetSize, First: c.journal.First(), Replaced: c.journal.Replaced(),
		Noise: c.prepared.Config.Roots.Clients[c.Client].Name(),
		Sizes: c.journal.Sizes(), Lags: c.journal.Lags(), Sent: c.sent, Resent: c.resent,
		Seconds: time.Since(c.begun).Seconds(),
	}
}
