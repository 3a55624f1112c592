package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"proactivedp/data"
	"proactivedp/internal/cpu"
	"proactivedp/sim"
)

// CodeVersion is the version of what a spec means, part of the identity of every
// checkpoint and of every finished cell of a figure. Raise it when a change of the
// code changes what a spec gives (the golden tests of packages sim, train and
// experiments show that).
const CodeVersion = 3

// identity is all that decides the bits of a run: a checkpoint is of one
// identity, and only a run of the same goes on from it.
type identity struct {
	Spec    Spec   `json:"config"`
	Data    string `json:"data_sha256"`
	Code    int    `json:"code"`              // the CodeVersion that computed it
	Kernels string `json:"kernels,omitempty"` // see Spec.Kernels
	Arch    string `json:"arch"`              // the processor architecture: exponentials differ in their last bits
}

func (p *Prepared) identity() identity {
	return identity{p.Spec, p.source.Hash(), CodeVersion, p.Spec.Kernels(), cpu.Arch()}
}

// goesOn reports why a run of identity id cannot go on from a checkpoint of
// another.
func (id identity) goesOn(from identity) error {
	var errs []error
	differ := func(what, here, there string) {
		if here != there {
			errs = append(errs, fmt.Errorf("train: %s = %s, the checkpoint has %s", what, here, there))
		}
	}
	differ("content of the data, sha256", id.Data, from.Data)
	differ("version of the code", fmt.Sprint(id.Code), fmt.Sprint(from.Code))
	differ("kernels", fmt.Sprintf("%q", id.Kernels), fmt.Sprintf("%q", from.Kernels))
	differ("architecture", id.Arch, from.Arch)
	here, err := json.Marshal(id.Spec)
	there, err2 := json.Marshal(from.Spec)
	differ("config", string(here), string(there))
	return errors.Join(append(errs, err, err2)...)
}

// header is what a checkpoint's file says of its run, before the state.
type header struct {
	identity
	Updates  int             `json:"updates"` // updates that the server has applied so far
	Finished bool            `json:"finished"`
	Seconds  float64         `json:"seconds"`           // seconds of training so far
	Watched  json.RawMessage `json:"watched,omitempty"` // what an observer has seen so far
}

// Checkpoint is a training run that a file keeps, up to some event.
type Checkpoint struct {
	header
	path  string
	file  *os.File
	state *sim.Checkpoint
}

// OpenCheckpoint reads the checkpoint at path, and refuses one that is damaged or
// that this program did not write. It is to be closed.
func OpenCheckpoint(path string) (*Checkpoint, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("train: checkpoint: %w", err)
	}
	c := &Checkpoint{path: path, file: f}
	if err := c.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("train: checkpoint %s: %w", path, err), f.Close())
	}
	return c, nil
}

func (c *Checkpoint) read() error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("this is no regular file")
	}
	if c.state, err = sim.OpenCheckpoint(c.file, info.Size()); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(c.state.Header))
	dec.DisallowUnknownFields() // fields of a newer program may decide the result: they are refused
	if err := dec.Decode(&c.header); err != nil {
		return fmt.Errorf("which run it is of: %w", err)
	}
	return nil
}

// Close closes the file.
func (c *Checkpoint) Close() error { return c.file.Close() }

// Prepare builds the run that the checkpoint is of. The data set must have the
// content that it had, wherever it is now.
func (c *Checkpoint) Prepare(d *data.Dataset) (*Prepared, error) {
	source := NewSource(d)
	now := identity{c.Spec, source.Hash(), CodeVersion, c.Spec.Kernels(), cpu.Arch()}
	if err := now.goesOn(c.identity); err != nil {
		return nil, err
	}
	return source.Prepare(c.Spec)
}

// restore puts v, which runs p, into the checkpoint's state.
func (c *Checkpoint) restore(p *Prepared, v *sim.Virtual) error {
	if err := p.identity().goesOn(c.identity); err != nil {
		return err
	}
	if err := c.state.Restore(v); err != nil {
		return fmt.Errorf("train: checkpoint %s: %w", c.path, err)
	}
	return nil
}

// CanKeep reports why runs of the spec keep no checkpoints.
func (s Spec) CanKeep() error {
	var errs []error
	if s.Runner != VirtualRunner {
		errs = append(errs, fmt.Errorf("train: runner = %q keeps no checkpoints, as it stands still at no instant and its result cannot be repeated; must be %q", s.Runner, VirtualRunner))
	}
	if s.SeedFromOS {
		errs = append(errs, errors.New("train: a run whose randomness is the operating system's keeps no checkpoints: they would hold the secret of its noise, and without it rounds would be released twice; give a seed"))
	}
	return errors.Join(errs...)
}

// CheckKeep refuses to begin a run whose checkpoints would replace an unfinished
// run or a file that is something else.
func CheckKeep(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (info.Size() == 0 || !info.Mode().IsRegular()):
		return nil
	case err != nil:
		return fmt.Errorf("train: checkpoint: %w", err)
	}
	c, err := OpenCheckpoint(path)
	if err != nil {
		return fmt.Errorf("%w; a new run does not replace it: name another file", err)
	}
	defer c.Close()
	if !c.Finished {
		return fmt.Errorf("train: checkpoint %s holds a run that is not finished, %d updates of it; resume it, or remove the file", path, c.Updates)
	}
	return nil
}
