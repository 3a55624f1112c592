package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrSilent reports that the server did not answer for as long as a client waits for it.
var ErrSilent = errors.New("the server is silent")

// silence ends a client's context when the server has not answered for too long. The server may have
// ended for good, and a client that was away then cannot know.
type silence struct {
	most  time.Duration
	warn  *time.Timer
	end   *time.Timer
	close context.CancelCauseFunc
}

// newSilence returns a context that ends with ErrSilent when heard was not called for the time most. With
// 0 it never does.
func newSilence(ctx context.Context, most time.Duration, log *slog.Logger) (context.Context, *silence) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &silence{most: most, close: cancel}
	s.warn = time.AfterFunc(patience, func() { log.Warn("the server is silent", "seconds", patience.Seconds()) })
	if most > 0 {
		s.end = time.AfterFunc(most, func() { cancel(fmt.Errorf("%w: no answer for %v", ErrSilent, most)) })
	}
	return ctx, s
}

// heard notes that the server has answered. After pause it begins to wait for the server again.
func (s *silence) heard() {
	s.warn.Reset(patience)
	if s.end != nil {
		s.end.Reset(s.most)
	}
}

// pause stops measuring silence until heard is called.
func (s *silence) pause() {
	s.warn.Stop()
	if s.end != nil {
		s.end.Stop()
	}
}

// stop stops measuring silence and ends the context.
func (s *silence) stop() {
	s.pause()
	s.close(nil)
}

// whyLeft adds to the error of a silent server which rounds it has saved and which it has not.
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
