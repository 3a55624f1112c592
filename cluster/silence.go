package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrSilent is wrapped by the error of [Join] if the server has not answered for the time JoinOptions.GiveUpAfter.
// Another call of Join continues.
var ErrSilent = errors.New("the server is silent")

// silence ends a client's context if the server has not answered for too long. The server may have
// ended for good, and a client that was away at that time cannot know.
type silence struct {
	most  time.Duration
	warn  *time.Timer
	end   *time.Timer
	close context.CancelCauseFunc
}

// newSilence returns a context that ends with ErrSilent if heard is not called for the duration
// most. If most is 0, silence never ends the context.
func newSilence(ctx context.Context, most time.Duration, log *slog.Logger) (context.Context, *silence) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &silence{most: most, close: cancel}
	s.warn = time.AfterFunc(patience, func() { log.Warn("the server is silent", "seconds", patience.Seconds()) })
	if most > 0 {
		s.end = time.AfterFunc(most, func() { cancel(fmt.Errorf("%w: no answer for %v", ErrSilent, most)) })
	}
	return ctx, s
}

// heard records that the server has answered. The measurement of silence starts again, also after
// pause.
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

// whyLeft returns err, and if it is ErrSilent, adds which of the client's rounds the server has
// saved.
func (c *client) whyLeft(err error) error {
	if !errors.Is(err, ErrSilent) {
		return err
	}
	if c.about == nil {
		return fmt.Errorf("%w. Nothing was released this time; run the same command to continue", err)
	}
	c.disk.Lock()
	next, kept := c.journal.Next(), len(c.journal.Releases())
	c.disk.Unlock()
	return fmt.Errorf("%w. Of %d rounds %d are released, and the server has saved %d of these; the journal in %s keeps "+
		"the others. If the training has ended, nothing is left to do. Otherwise run the same command to continue", err,
		c.about.Rounds, next, next-kept, c.Dir)
}
