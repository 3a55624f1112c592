package sim

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"proactivedp/rng"
)

// A checkpoint is a run's state in a file:
//
//	"proactivedp checkpoint\n"
//	version of the format     8 bytes, little-endian, as all numbers
//	length of the header      8 bytes
//	header                    the caller's: which run this is
//	state                     see virtualState.visit
//	SHA-256 of all before     32 bytes; under a key, HMAC-SHA-256
//
// The version tells which. The SHA-256 finds damage, and proves nothing of who
// wrote the file: whoever can change it can change that, too. Only the HMAC shows
// that it is as somebody who has the key wrote it.
//
// It is written from the live state, without a copy of it.
const (
	checkpointMagic = "proactivedp checkpoint\n"
	// checkpointVersion is raised with every change of what is written. The golden
	// test shows one.
	checkpointVersion = 1
	// keyedVersion is the version of a file that ends in an HMAC.
	keyedVersion = 1<<32 | checkpointVersion
	// maxHeader bounds the header, in bytes.
	maxHeader = 1 << 26
	preamble  = len(checkpointMagic) + 16
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
	if err := checkKey(key); err != nil {
		return err
	}
	if v.failed != nil {
		return fmt.Errorf("sim: checkpoint: the run has failed: %w", v.failed)
	}
	if len(header) > maxHeader {
		return fmt.Errorf("sim: checkpoint: header of %d bytes, must be at most %d", len(header), maxHeader)
	}
	version, sum := digest(key)
	both := io.MultiWriter(w, sum)
	head := make([]byte, 0, preamble+len(header))
	head = append(head, checkpointMagic...)
	head = binary.LittleEndian.AppendUint64(head, version)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(header)))
	head = append(head, header...)
	if _, err := both.Write(head); err != nil {
		return fmt.Errorf("sim: checkpoint: %w", err)
	}
	c := newWriter(v.frame, both)
	state := v.state()
	state.visit(c)
	err := c.End()
	if err == nil {
		_, err = w.Write(sum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("sim: checkpoint: %w", err)
	}
	return nil
}

// MinKey is the length of the shortest key of a checkpoint, in bytes.
const MinKey = 16

func checkKey(key []byte) error {
	if len(key) > 0 && len(key) < MinKey {
		return fmt.Errorf("sim: checkpoint: a key of %d bytes, must have at least %d", len(key), MinKey)
	}
	return nil
}

// digest returns the version of a file that is written under the key, and what its
// last bytes are computed by.
func digest(key []byte) (uint64, hash.Hash) {
	if len(key) == 0 {
		return checkpointVersion, sha256.New()
	}
	return keyedVersion, hmac.New(sha256.New, key)
}

// Checkpoint is the state of a run as WriteCheckpoint left it.
type Checkpoint struct {
	Header []byte
	state  *io.SectionReader
}

// ErrDamaged reports a checkpoint that is not as it was written.
var ErrDamaged = errors.New("the checkpoint is damaged: its SHA-256 is not that of its content")

// OpenCheckpoint reads a checkpoint of size bytes once, to see that it is one and
// is whole. r is read again by Restore.
func OpenCheckpoint(r io.ReaderAt, size int64) (*Checkpoint, error) {
	return OpenKeyedCheckpoint(r, size, nil)
}

// ErrKey reports a checkpoint that was not written under the key given, or that was
// written under one where none is given.
var ErrKey = errors.New("the checkpoint was not written under this key")

// OpenKeyedCheckpoint is OpenCheckpoint of what WriteKeyedCheckpoint wrote under the
// same key. With a key, a checkpoint that has no HMAC is refused; without one, a
// checkpoint that has.
func OpenKeyedCheckpoint(r io.ReaderAt, size int64, key []byte) (*Checkpoint, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	c, err := openCheckpoint(r, size, key)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	return c, nil
}

func openCheckpoint(r io.ReaderAt, size int64, key []byte) (*Checkpoint, error) {
	head := make([]byte, preamble)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if found := head[:min(n, len(checkpointMagic))]; n == 0 || !bytes.HasPrefix([]byte(checkpointMagic), found) {
		return nil, errors.New("this is no checkpoint of proactivedp")
	}
	body := size - sha256.Size
	if n < preamble || body < int64(preamble) {
		return nil, fmt.Errorf("the checkpoint is cut off: it has only %d bytes", size)
	}
	version := binary.LittleEndian.Uint64(head[len(checkpointMagic):])
	length := binary.LittleEndian.Uint64(head[len(checkpointMagic)+8:])
	due, sum := digest(key)
	if version == checkpointVersion && due == keyedVersion {
		return nil, fmt.Errorf("%w: it has no HMAC, and may be from anybody", ErrKey)
	}
	if version == keyedVersion && due != keyedVersion {
		return nil, fmt.Errorf("%w: it was written under one, and none is given", ErrKey)
	}
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, body)); err != nil {
		return nil, err
	}
	want := make([]byte, sha256.Size)
	if _, err := r.ReadAt(want, body); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case !hmac.Equal(sum.Sum(nil), want):
		if len(key) > 0 {
			return nil, fmt.Errorf("%w, or is damaged: its HMAC is another", ErrKey)
		}
		return nil, ErrDamaged
	case version != due:
		return nil, fmt.Errorf("the checkpoint's format is version %d, this program has version %d", version,
			checkpointVersion)
	case length > maxHeader || int64(length) > body-int64(preamble):
		return nil, fmt.Errorf("the checkpoint's header has %d bytes, must be at most %d and within the file", length,
			maxHeader)
	}
	c := &Checkpoint{Header: make([]byte, length)}
	if _, err := r.ReadAt(c.Header, int64(preamble)); err != nil {
		return nil, err
	}
	start := int64(preamble) + int64(length)
	c.state = io.NewSectionReader(r, start, body-start)
	return c, nil
}

// Restore puts v, a run of the configuration that the checkpoint is of, into its
// state. If it fails v is as it was.
func (k *Checkpoint) Restore(v *Virtual) error {
	if _, err := k.state.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("sim: checkpoint: %w", err)
	}
	r := bufio.NewReaderSize(k.state, 1<<16)
	c := newReader(v.frame, r)
	var state virtualState
	state.visit(c)
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
		return fmt.Errorf("sim: the checkpoint does not fit the run: %w", err)
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
