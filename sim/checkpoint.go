package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"proactivedp/internal/codec"
	"proactivedp/internal/sealed"
	"proactivedp/rng"
)

// A checkpoint is a sealed file: the header is the caller's, and says which run it
// is of; the content is the run's state, see virtualState.visit, and then Virtual.Beside.
// It is written from the live state, without a copy of it.
var checkpointFormat = sealed.Format{
	Magic: "proactivedp checkpoint\n", Name: "checkpoint",
	// Version is raised with every change of what is written. The golden test shows one.
	Version: 1,
}

// MinKey is the length of the shortest key of a checkpoint, in bytes.
const MinKey = sealed.MinKey

var (
	// ErrDamaged reports a checkpoint that is not as it was written.
	ErrDamaged = sealed.ErrDamaged
	// ErrKey reports a checkpoint that was not written under the key given, or that was
	// written under one where none is given.
	ErrKey = sealed.ErrKey
)

// WriteCheckpoint writes the run's state between two events; RunUntil's stop may
// call it. header says which run it is, and comes back from OpenCheckpoint: by it
// the caller must see to it that a run which is restored is of the same
// configuration. A run that has failed is in the middle of an event and is
// refused.
func (v *Virtual) WriteCheckpoint(w io.Writer, header []byte) error {
	return v.WriteKeyedCheckpoint(w, header, nil)
}

// WriteKeyedCheckpoint is WriteCheckpoint under a secret key of MinKey bytes or
// more: OpenKeyedCheckpoint sees a change by anybody who does not have it. An empty
// key is none.
func (v *Virtual) WriteKeyedCheckpoint(w io.Writer, header, key []byte) error {
	if err := v.made(); err != nil {
		return err
	}
	if v.failed != nil {
		return fmt.Errorf("the run has failed: %w", v.failed)
	}
	if err := checkpointFormat.Write(w, header, key, func(w io.Writer) error {
		c := newWriter(v.frame, w)
		state := v.state()
		state.visit(c)
		codec.Wide(c, v.Beside)
		return c.End()
	}); err != nil {
		return err
	}
	return nil
}

// Checkpoint is the state of a run as WriteCheckpoint left it.
//
// A Checkpoint is made by OpenCheckpoint or OpenKeyedCheckpoint. The methods of any other return an error or, if they
// have none to return, may panic.
type Checkpoint struct {
	Header []byte
	state  *io.SectionReader
}

// OpenCheckpoint reads a checkpoint of size bytes once, to see that it is one and
// is whole. r is read again by Restore.
func OpenCheckpoint(r io.ReaderAt, size int64) (*Checkpoint, error) {
	return OpenKeyedCheckpoint(r, size, nil)
}

// OpenKeyedCheckpoint is OpenCheckpoint of what WriteKeyedCheckpoint wrote under the
// same key. With a key, a checkpoint that has no HMAC is refused; without one, a
// checkpoint that has.
func OpenKeyedCheckpoint(r io.ReaderAt, size int64, key []byte) (*Checkpoint, error) {
	header, state, err := checkpointFormat.Open(r, size, key)
	if err != nil {
		return nil, err
	}
	return &Checkpoint{header, state}, nil
}

// Restore puts v, a run of the configuration that the checkpoint is of, into its
// state. If it fails v is as it was, but for what Beside holds.
func (k *Checkpoint) Restore(v *Virtual) error {
	if err := k.made(); err != nil {
		return err
	}
	if _, err := k.state.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(k.state, 1<<16)
	c := newReader(v.frame, r)
	var state virtualState
	state.visit(c)
	codec.Wide(c, v.Beside)
	if c.Err() == nil {
		if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
			c.Fail("more than a state of this configuration")
		}
	}
	err := c.End()
	if err == nil {
		err = state.check(&v.frame)
	}
	if err == nil {
		err = v.checkUpdates(&state)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint does not fit the run: %w", err)
	}
	v.setState(state)
	v.failed = nil // a checkpoint is never of a run that has failed
	return nil
}

// checkUpdates reports an update on its way, in a state that was read, which the
// mechanism cannot have released. How many records a round has sampled is known unless
// the client adapts, to times that are not kept.
func (v *Virtual) checkUpdates(s *virtualState) error {
	var ws Workspace
	for i := range s.queue {
		e := &s.queue[i]
		if !e.kind.update() || v.cfg.Substitute != nil { // what that sends is not the mechanism's
			continue
		}
		c, round := v.clients[e.client], int(e.number)
		records := c.mech.DatasetSize
		if c.adapt == 0 {
			c.root.Reseed(&ws.sampling, rng.Sampling, uint32(c.id), round)
			ws.rows = c.mech.SampleOf(ws.rows[:0], c.mech.Sizes.At(round), &ws.sampling, &ws.sample)
			records = len(ws.rows)
		}
		c.root.Reseed(&ws.noise, rng.Noise, uint32(c.id), round)
		if err := c.mech.CheckRelease(e.vector.X, records, &ws.noise); err != nil {
			return fmt.Errorf("event %d: the update of client %d in round %d: %w", i, c.id, round, err)
		}
	}
	return nil
}

// made reports a checkpoint that cannot be read.
func (k *Checkpoint) made() error {
	if k == nil || k.state == nil {
		return errors.New("this Checkpoint was not made by OpenCheckpoint")
	}
	return nil
}
