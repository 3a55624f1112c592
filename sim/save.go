package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"

	"proactivedp/internal/codec"
)

// A machine's state is written as bytes, little-endian:
//
//	"proactivedp server\n" or "proactivedp client\n"
//	version of the format      8 bytes
//	state                      see frame.visit, serverState.visit and clientState.visit
//	SHA-256 of all before      32 bytes
const (
	serverMagic = "proactivedp server\n"
	clientMagic = "proactivedp client\n"
	// machineVersion is raised with every change of what is written. The golden
	// test shows one of each.
	machineVersion = 1
)

// Save writes the server's state, which Restore reads: the global model and which
// updates are in it.
func (s *Server) Save(w io.Writer) error {
	if err := s.made(); err != nil {
		return err
	}
	return writeState(w, serverMagic, s.frame, s.state.visit)
}

// Restore puts s, of the configuration of the server that was saved, into its
// state, and reads not a byte beyond it. A state that is damaged, or that no such
// server can be in, is an error, and s is as it was.
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

// Save writes the client's state, which Restore reads: ŵ, the round, the ledger,
// and the broadcast that waits for the end of the round. A round under way is
// saved as begun; Compute gives its release again, bit by bit.
//
// A client that was restored sends the rounds since Save once more. With the same
// broadcasts received at the same rounds they are the same bits, and nothing is
// lost; with others the same noise covers other gradients, and who has both
// releases sees the difference without noise. So save after a round is finished
// and before its update is sent, or keep what was sent and see Resume.
func (c *Client) Save(w io.Writer) error {
	if err := c.made(); err != nil {
		return err
	}
	return writeState(w, clientMagic, c.frame, c.visit)
}

// Restore puts c, of the configuration and the number of the client that was
// saved, into its state, and reads not a byte beyond it. A state that is damaged,
// or that no such client can be in, is an error, and c is as it was.
func (c *Client) Restore(r io.Reader) error {
	if err := c.made(); err != nil {
		return err
	}
	restored := Client{id: c.id, frame: c.frame}
	return readState(r, clientMagic, c.frame, restored.visit, func() error {
		state := &restored.state
		if err := state.check(c.rounds); err != nil {
			return err
		}
		c.state.replace(nil, c.letGo)
		c.keep(nil)
		c.state = *state
		return nil
	})
}

// visit carries the client's number and state, in either direction.
func (c *Client) visit(k *stateCodec) {
	codec.Exactly(k, "client", c.id)
	c.state.visit(k)
}

// writeState writes a state in the format above.
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
		return fmt.Errorf("sim: %s: %w", kindOf(magic), err)
	}
	return nil
}

// readState reads a state and, when it is whole, calls accept, which may refuse it.
func readState(r io.Reader, magic string, f frame, visit func(*stateCodec), accept func() error) error {
	sum := sha256.New()
	c := newReader(f, io.TeeReader(r, sum))
	if found := c.Next(len(magic)); c.Err() == nil && string(found) != magic {
		c.Fail("this is none")
	}
	codec.Exactly(c, "version of the format", machineVersion)
	f.visit(c)
	visit(c)
	want := sum.Sum(nil)
	if found := c.Next(sha256.Size); c.Err() == nil && !bytes.Equal(found, want) {
		c.Fail("damaged: its SHA-256 is not that of its content")
	}
	err := c.End()
	if err == nil {
		err = accept()
	}
	if err != nil {
		return fmt.Errorf("sim: %s: %w", kindOf(magic), err)
	}
	return nil
}

// kindOf names what the magic stands for.
func kindOf(magic string) string {
	if magic == serverMagic {
		return "state of a server"
	}
	return "state of a client"
}
