package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrSilent reports that the server did not answer for as long as a client waits for it.
var ErrSilent = errors.New("dist: the server is silent")

// silence ends a client's context when the server has not answered for too long: it may have
// ended for good, which nobody can tell who was not there.
type silence struct {
	most  time.Duration
	warn  *time.Timer
	end   *time.Timer
	close context.CancelCauseFunc
}

// newSilence returns a context that ends with ErrSilent when heard was not called for the time
// most; 0: never.
func newSilence(ctx context.Context, most time.Duration, log *slog.Logger) (context.Context, *silence) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &silence{most: most, close: cancel}
	s.warn = time.AfterFunc(patience, func() { log.Warn("the server is silent", "seconds", patience.Seconds()) })
	if most > 0 {
		s.end = time.AfterFunc(most, func() { cancel(fmt.Errorf("%w: no answer for %v", ErrSilent, most)) })
	}
	return ctx, s
}

// heard notes that the server has answered, or that nobody waits for it any more until now.
func (s *silence) heard() {
	s.warn.Reset(patience)
	if s.end != nil {
		s.end.Reset(s.most)
	}
}

// pause ends the waiting until heard is called.
func (s *silence) pause() {
	s.warn.Stop()
	if s.end != nil {
		s.end.Stop()
	}
}

// stop ends the waiting and the context.
func (s *silence) stop() {
	s.pause()
	s.close(nil)
}

// whyLeft adds to an error of a silent server what the client has, and has not, given it.
func (c *client) whyLeft(err error) error {
	if !errors.Is(err, ErrSilent) {
		return err
	}
	if c.about == nil {
		return fmt.Errorf("%w. Nothing was released now; the same command goes on", err)
	}
	c.disk.Lock()
	next, kept := c.journal.Next(), len(c.journal.Releases())
	c.disk.Unlock()
	return fmt.Errorf("%w. Of %d rounds %d are released, of which the server has saved %d; the journal in %s keeps "+
		"the others. If the training has ended nothing is left to do, else the same command goes on", err,
		c.about.Rounds, next, next-kept, c.Dir)
}
