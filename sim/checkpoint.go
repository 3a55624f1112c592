package sim

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"proactivedp/dp"
	"proactivedp/internal/codec"
	"proactivedp/internal/sealed"
	"proactivedp/rng"
)

// A checkpoint is a sealed file. Its header belongs to the caller and identifies the run. Its
// content is the state of the run (see virtualState.visit), followed by Virtual.Beside. It is
// written from the live state, without a copy.
var checkpointFormat = sealed.Format{
	Magic: "proactivedp checkpoint\n", Name: "checkpoint",
	// Raise Version whenever the content changes. The golden test has a file of this version.
	Version: 1,
}

// MinKey, 16, is the smallest length in bytes of the secret key of a checkpoint (the saved state of a run). With a
// key, changes of the file by others are detected: see [Virtual.WriteCheckpoint].
const MinKey = sealed.MinKey

var (
	// ErrDamaged is the error for a checkpoint whose content differs from what was written.
	ErrDamaged = sealed.ErrDamaged
	// ErrKey is the error for a checkpoint that was written with another key than the given one. It is also the error
	// if only one of the two keys is empty (none).
	ErrKey = sealed.ErrKey
)

// WriteCheckpoint writes the state of the run between two events. Call it between two calls of Step, or in the stop
// function of RunUntil. The header is any text of the caller. OpenCheckpoint returns it, so that the caller can check
// that a restored run has the same configuration. The key is empty (none) or a secret of at least MinKey bytes. With
// a key, OpenCheckpoint detects any change made by somebody who does not have the key. WriteCheckpoint returns an
// error for a run that has failed, because such a run stopped in the middle of an event.
func (v *Virtual) WriteCheckpoint(w io.Writer, header, key []byte) error {
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

// Checkpoint is a saved state of a run on the virtual clock, as Virtual.WriteCheckpoint wrote it.
//
// Use OpenCheckpoint to make one. The methods of a zero Checkpoint return an error.
type Checkpoint struct {
	Header []byte // the caller's text that WriteCheckpoint got
	state  *io.SectionReader
}

// OpenCheckpoint reads a checkpoint of size bytes and checks that it is complete. Keep r open, because Restore reads
// from it again. The key must be the one that WriteCheckpoint got: the error is ErrKey if the keys differ or if only
// one of the two is empty. A checkpoint that differs from what was written gives ErrDamaged.
func OpenCheckpoint(r io.ReaderAt, size int64, key []byte) (*Checkpoint, error) {
	header, state, err := checkpointFormat.Open(r, size, key)
	if err != nil {
		return nil, err
	}
	return &Checkpoint{header, state}, nil
}

// Restore sets v to the state of the checkpoint, so that v continues the saved run. v must have the configuration of
// that run. If Restore fails, v.Beside (the caller's numbers that were saved with the run) may have changed, but
// nothing else in v.
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
			c.Fail("there are bytes after the state")
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
	v.failed = nil // only runs that have not failed are saved
	return nil
}

// checkUpdates returns an error if an update that is under way in s, a state that was read, cannot
// be a release of its client's mechanism. The number of records in a round's sample is known, unless
// the client adapts its sample sizes. Then it depends on times that the state does not have.
func (v *Virtual) checkUpdates(s *virtualState) error {
	var ws Workspace
	var epoch allotted
	var updates []int // by client and round, so that an epoch is drawn once
	for i := range s.queue {
		if s.queue[i].kind.update() && v.cfg.Substitute == nil { // a substitute's updates are not the mechanism's
			updates = append(updates, i)
		}
	}
	slices.SortFunc(updates, func(i, j int) int {
		a, b := &s.queue[i], &s.queue[j]
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(a.number, b.number))
	})
	for _, i := range updates {
		e := &s.queue[i]
		c, round := v.clients[e.client], int(e.number)
		records := c.mech.DatasetSize
		switch {
		case c.mech.Sampling == dp.Allocation:
			records = len(epoch.allot(c, round, &ws))
		case c.adapt == 0:
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

func (k *Checkpoint) made() error {
	if k == nil || k.state == nil {
		return errors.New("this Checkpoint was not made by OpenCheckpoint")
	}
	return nil
}
