package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"

	"proactivedp/internal/codec"
)

// The state of a server or client is written as bytes, little-endian:
//
//	"proactivedp server\n" or "proactivedp client\n"
//	version of the format      8 bytes
//	state                      see frame.visit, serverState.visit and clientState.visit
//	SHA-256 of all before      32 bytes
const (
	serverMagic = "proactivedp server\n"
	clientMagic = "proactivedp client\n"
	// Raise machineVersion whenever the content changes. The golden test has a file of each kind.
	machineVersion = 1
)

// Save writes the server's state, which Restore reads: the global model, and which updates were applied.
func (s *Server) Save(w io.Writer) error {
	if err := s.made(); err != nil {
		return err
	}
	return writeState(w, serverMagic, s.frame, s.state.visit)
}

// Restore reads a state that Save wrote, and nothing after it. s must have the configuration of the saved server. If
// the state is damaged or impossible, Restore returns an error and s does not change.
func (s *Server) Restore(r io.Reader) error {
	if err := s.made(); err != nil {
		return err
	}
	var state serverState
	return readState(r, serverMagic, s.frame, state.visit, func() error {
		if err := state.check(s.frame.clients); err != nil {
			return err
		}
		s.state, s.gone = state, nil
		return nil
	})
}

// Save writes the client's state for Restore: its model ŵ, the round, the ledger, and the newest global model if that
// came during the round under way. A round under way is saved as begun, and Compute gives the same message again.
//
// A restored client computes the rounds since Save a second time. That can cost privacy:
//
//  1. The client saves its state in round 3, and sends rounds 3 and 4.
//  2. It is restored. It receives other broadcasts than before, and sends rounds 3 and 4 again.
//  3. Both updates of round 4 have the same noise and different gradients. Anybody who has both can
//     compute the difference of the gradients, without noise.
//
// If the client receives the same broadcasts in the same rounds, the updates have the same bits and cost
// nothing more. To be safe, save after each round is finished and before its update is sent: no round that was sent is
// then computed again. Or use Resume instead of Restore, which does not compute the rounds in the ledger again. Keep a
// copy of each update for this: if an update was lost, send the copy.
func (c *Client) Save(w io.Writer) error {
	if err := c.made(); err != nil {
		return err
	}
	return writeState(w, clientMagic, c.frame, c.visit)
}

// Restore reads a state that Save wrote, and nothing after it. c must have the configuration and the number of the
// saved client. If the state is damaged or impossible, Restore returns an error and c does not change.
func (c *Client) Restore(r io.Reader) error {
	if err := c.made(); err != nil {
		return err
	}
	restored := Client{id: c.id, frame: c.frame}
	return readState(r, clientMagic, c.frame, restored.visit, func() error {
		state := &restored.state
		if err := state.check(&c.frame); err != nil {
			return err
		}
		c.state.replace(nil, c.letGo)
		c.keep(nil)
		c.state = *state
		return nil
	})
}

// visit writes or reads the client's number and state.
func (c *Client) visit(k *stateCodec) {
	codec.Exactly(k, "client", c.id)
	c.state.visit(k)
}

func writeState(w io.Writer, magic string, f frame, visit func(*stateCodec)) error {
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	c := newWriter(f, both)
	copy(c.Next(len(magic)), magic)
	codec.Exactly(c, "version of the format", machineVersion)
	f.visit(c)
	visit(c)
	err := c.End()
	if err == nil {
		_, err = w.Write(sum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kindOf(magic), err)
	}
	return nil
}

// readState reads a state. If it is complete, it calls accept, which may refuse it.
func readState(r io.Reader, magic string, f frame, visit func(*stateCodec), accept func() error) error {
	sum := sha256.New()
	c := newReader(f, io.TeeReader(r, sum))
	if found := c.Next(len(magic)); c.Err() == nil && string(found) != magic {
		c.Fail("the file does not begin with the expected text")
	}
	codec.Exactly(c, "version of the format", machineVersion)
	f.visit(c)
	visit(c)
	want := sum.Sum(nil)
	if found := c.Next(sha256.Size); c.Err() == nil && !bytes.Equal(found, want) {
		c.Fail("damaged: its SHA-256 does not match its content")
	}
	err := c.End()
	if err == nil {
		err = accept()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kindOf(magic), err)
	}
	return nil
}

// kindOf returns the name of the kind of state that begins with magic.
func kindOf(magic string) string {
	if magic == serverMagic {
		return "state of a server"
	}
	return "state of a client"
}
