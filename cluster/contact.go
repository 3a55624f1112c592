package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"proactivedp/cluster/internal/journal"
	"proactivedp/internal/message"
)

// ask makes keepInTouch send a hello at once.
func (c *client) ask() { signal(c.beats) }

// greet says hello until the server answers, and returns the answer.
func (c *client) greet(ctx context.Context) (*answer, error) {
	for {
		a, err := c.hello(ctx, hello{First: true, Replace: c.Replace})
		if err == nil {
			return a, nil
		}
		if !silent(err) || ctx.Err() != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
		if err := pause(ctx, beat); err != nil {
			return nil, err
		}
	}
}

// hello sends a hello, with the fields that h sets, and returns the answer.
func (c *client) hello(ctx context.Context, h hello) (*answer, error) {
	c.disk.Lock()
	h.Journal, h.Life, h.Instance = c.journal.Root().Name().Root, c.journal.Lives(), c.instance
	h.Oldest, h.Next = c.journal.Oldest(), c.journal.Next()
	c.disk.Unlock()
	c.mu.Lock()
	h.Newest = c.newest
	c.mu.Unlock()
	a := new(answer)
	if err := ask(ctx, c.conn, c.names.hello(c.Client), h, a, 3*beat); err != nil {
		return nil, err
	}
	c.server.heard()
	switch {
	case a.Gone:
		return nil, fmt.Errorf("%w: client %d", ErrExpelled, c.Client)
	case a.Error != "":
		return nil, fmt.Errorf("%w: client %d: %s", ErrRefused, c.Client, message.Quoted(a.Error))
	case a.K < 0 || a.Next < 0 || a.Covered < 0 || a.Highest < -1 || a.First < 0 || a.Replaced < 0 || a.Replaced > journal.MostReplaced:
		return nil, fmt.Errorf("the server answers %+v", *a)
	}
	if a.lacks = a.Next < h.Oldest; a.lacks && h.First {
		return nil, c.lost(a.Next, h.Oldest)
	}
	return a, nil
}

// keepInTouch sends a hello to the server once per beat, and handles the answers.
func (c *client) keepInTouch(ctx context.Context) error {
	lacks := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.beats:
		case <-time.After(beat):
		}
		if err := c.about.checkBroker(c.conn); err != nil {
			return ended(ctx, err)
		}
		a, err := c.hello(ctx, hello{First: lacks})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if !silent(err) {
				return err
			}
			continue
		}
		if lacks = a.lacks; lacks {
			c.ask()
		}
		if err := c.learn(a); err != nil {
			return err
		}
		select {
		case <-c.heard:
		default:
		}
		c.heard <- *a
		c.models.want(a.K)
	}
}

// learn handles the server's answer to a hello. The journal forgets the rounds that the server has
// saved, and the sender sends the rounds again that the server lacks.
func (c *client) learn(a *answer) error {
	releases, err := c.cover(a.Covered)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.folded = a.Processed
	for round := range c.acked {
		if round < a.Covered {
			delete(c.acked, round)
		}
	}
	for _, r := range releases {
		if r.Round < a.Next || r.Round <= a.Highest && !slices.Contains(a.Missing, r.Round) {
			continue
		}
		got, acked := c.acked[r.Round]
		if !acked { // it is still on its way
			continue
		}
		age := time.Since(got.at)
		if age > 3*beat && a.Processed >= got.message || age > patience {
			delete(c.acked, r.Round)
			c.resent++
			c.out.again(r)
		}
	}
	return nil
}

// cover makes the journal forget the releases of rounds below next, and returns the releases that
// it still has.
func (c *client) cover(next int) ([]journal.Release, error) {
	c.disk.Lock()
	defer c.disk.Unlock()
	err := c.journal.Cover(next)
	return c.journal.Releases(), err
}
