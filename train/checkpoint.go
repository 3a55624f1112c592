package train

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/strictjson"
	"proactivedp/models"
	"proactivedp/sim"
)

// CodeVersion returns the version of the code that computes the result of the spec. Checkpoints and stored results
// (package train/pool) contain this number, and other versions of the code do not use them. Whoever changes the code
// so that a spec gives another result must raise the number here. The golden tests of packages sim, train and
// experiments fail after such a change. If only some models give other results, raise the version only for these
// models.
func (s Spec) CodeVersion() int {
	if s.Holdout > 0 {
		return 6
	}
	if k, err := kindOf(s.Model); err == nil && k.network && !k.tiled {
		return 4
	}
	return 5
}

// identity is everything that determines the bits of a run. A checkpoint has an identity, and only a
// run with the same identity can continue from it.
type identity struct {
	Spec    Spec     `json:"config"`
	Data    string   `json:"data_sha256"`
	Code    int      `json:"code"`              // the spec's CodeVersion
	Kernels string   `json:"kernels,omitempty"` // see Spec.Kernels
	Arch    string   `json:"arch"`              // the processor architecture: exponentials differ in their last bits
	Stage   *stageID `json:"leg,omitempty"`     // what a stage has in addition to its spec
}

func (p *Prepared) identity() identity {
	return identity{p.Spec, p.source.Hash(), p.Spec.CodeVersion(), p.Spec.Kernels(), cpu.Arch(), p.stage}
}

// goesOn returns an error unless a run with identity id can continue from a checkpoint with identity from. The error
// says which parts differ.
func (id identity) goesOn(from identity) error {
	var errs []error
	differ := func(what, here, there string) {
		if here != there {
			errs = append(errs, fmt.Errorf("%s = %s, the checkpoint has %s", what, here, there))
		}
	}
	differ("content of the data, sha256", id.Data, from.Data)
	differ("version of the code", fmt.Sprint(id.Code), fmt.Sprint(from.Code))
	if id.Kernels != from.Kernels {
		errs = append(errs, fmt.Errorf("kernels = %v, the checkpoint has %s, and other kernels cannot continue with its "+
			"bits: choose the kernels with PROACTIVEDP_KERNELS", f32.Kernels(), cmp.Or(from.Kernels, "those of avx2, avx512 or neon")))
	}
	differ("architecture", id.Arch, from.Arch)
	asText := func(what string, ofHere, ofThere any) {
		here, err := json.Marshal(ofHere)
		there, err2 := json.Marshal(ofThere)
		errs = append(errs, err, err2)
		differ(what, string(here), string(there))
	}
	asText("config", id.Spec, from.Spec)
	asText("leg", id.Stage, from.Stage)
	return errors.Join(errs...)
}

// header is the part of a checkpoint's file before the state. It describes the run.
type header struct {
	identity
	Updates  int             `json:"updates"` // updates that the server has applied so far
	Finished bool            `json:"finished"`
	Seconds  float64         `json:"seconds"`            // seconds of training so far
	Released string          `json:"released_sha256"`    // see releasedHash
	Averaged int             `json:"averaged,omitempty"` // how many broadcasts are in the averaged model
	Watched  json.RawMessage `json:"watched,omitempty"`  // what an observer has recorded so far
	Notes    []string        `json:"notes,omitempty"`    // see Prepared.Notes
}

// Checkpoint is an open file that holds the state of a training that was stopped or has finished. To continue the
// training, call [Checkpoint.Prepare] with the data. Then call [Prepared.TrainKept] of the result, with a [Keep] (the
// settings for checkpoints) whose field From is the checkpoint.
//
// Use OpenCheckpoint to make one. The methods of a zero Checkpoint return an error or, if they have no error result,
// may panic.
type Checkpoint struct {
	header
	path  string
	file  *os.File
	key   []byte
	state *sim.Checkpoint
}

// OpenCheckpoint opens the checkpoint at path. key is the secret key with which it was written (Keep.Key). With the
// key, OpenCheckpoint returns an error if anybody without the key has written or changed the file. An empty key is
// for checkpoints that were written without one: OpenCheckpoint then detects damage but not forgery. The error says
// whether the file is damaged, is not a checkpoint of this program, or was not written with this key. The caller must
// close the checkpoint.
func OpenCheckpoint(path string, key []byte) (*Checkpoint, error) {
	f, err := bounded.Regular(path)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{path: path, file: f, key: key}
	if err := c.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", path, err), f.Close())
	}
	return c, nil
}

func (c *Checkpoint) read() error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	if c.state, err = sim.OpenCheckpoint(c.file, info.Size(), c.key); err != nil {
		return err
	}
	// Unknown fields, of a newer program, may change the result, so they are refused.
	if err := errors.Join(strictjson.Decode(c.state.Header, &c.header),
		strictjson.Check(c.state.Header, false)); err != nil {
		return fmt.Errorf("description of the run: %w", err)
	}
	return nil
}

// Close closes the checkpoint's file. Call it after the continued run has ended.
func (c *Checkpoint) Close() error {
	if err := c.made(); err != nil {
		return err
	}
	return c.file.Close()
}

// Prepare returns the run of the checkpoint, ready to continue. d must have the same content as the data set of the
// stopped run, but the file from which d was read may have moved. Prepare also returns an error if the version of the
// code, the kernels (the arithmetic code for the processor's instructions, see [Spec.Kernels]) or the processor
// architecture differ from that of the stopped run, because the result would then differ.
func (c *Checkpoint) Prepare(d *data.Dataset) (*Prepared, error) {
	if err := c.made(); err != nil {
		return nil, err
	}
	source := NewSource(d)
	now := identity{c.Spec, source.Hash(), c.Spec.CodeVersion(), c.Spec.Kernels(), cpu.Arch(), nil}
	if err := now.goesOn(c.identity); err != nil {
		return nil, err
	}
	p, err := source.Prepare(c.Spec)
	if err == nil {
		p.Notes = c.Notes
	}
	return p, err
}

// restore sets v, a run of p, to the checkpoint's state.
func (c *Checkpoint) restore(p *Prepared, v *sim.Virtual) error {
	if err := p.identity().goesOn(c.identity); err != nil {
		return err
	}
	err := c.state.Restore(v)
	if err == nil && c.Released != releasedHash(v) {
		err = errReleased
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.path, err)
	}
	return nil
}

// restoreAverage sets a to the checkpoint's average. Its mean was already restored with p's state.
func (c *Checkpoint) restoreAverage(p *Prepared, a *averager) error {
	if a == nil {
		return nil
	}
	if err := dp.CheckCount("broadcasts in the averaged model", c.Averaged, 0, p.Config.Run().Rounds); err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.path, err)
	}
	a.count = c.Averaged
	return models.CheckFinite(a.params())
}

// errReleased reports a checkpoint whose recorded releases are not those that its config and its ledgers give. A privacy
// statement computed from the config would then be about another run.
var errReleased = errors.New("the releases and their noise do not match the config and the ledgers")

// releasedHash is the SHA-256 of all events in the ledgers of v's clients. An event includes the
// noise multiplier, sampling and adjacency, which the file's ledgers take from the config.
func releasedHash(v *sim.Virtual) string {
	sum := sha256.New()
	for i, ledger := range v.Ledgers() {
		for _, e := range ledger.Events() {
			fmt.Fprintf(sum, "%d %+v\n", i, e)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// CanKeep returns nil if runs of the spec can write checkpoints, and otherwise an error with the reason. The runner
// must be VirtualRunner. Spec.SeedFromOS must be false, because a checkpoint would contain the secret seed of the
// noise.
func (s Spec) CanKeep() error {
	var errs []error
	if s.Runner != VirtualRunner {
		errs = append(errs, fmt.Errorf("runner = %q cannot write checkpoints, because it never pauses and "+
			"its result cannot be repeated: must be %q", s.Runner, VirtualRunner))
	}
	if s.SeedFromOS {
		errs = append(errs, errors.New("a run with randomness from the operating system cannot write checkpoints: "+
			"they would contain the secret of its noise, and without it rounds would be released twice. For a simulation, give --seed. "+
			"proactivedp auto --seed-from-os --dir FOLDER can continue a release after an interruption"))
	}
	return errors.Join(errs...)
}

// CheckKeep returns nil if a new run may write its checkpoints to the file path: if there is no such file, or it has
// no content, or it is the checkpoint of a finished run. It returns an error if the file is the checkpoint of an
// unfinished run, because the new run would overwrite it, or if the file is not a checkpoint. key is the key with
// which the existing checkpoint was written, or nil if it has none. CheckKeep does not check a path that is not a
// regular file, such as a device, and returns nil.
func CheckKeep(path string, key []byte) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (info.Size() == 0 || !info.Mode().IsRegular()):
		return nil
	case err != nil:
		return err
	}
	c, err := OpenCheckpoint(path, key)
	if err != nil {
		return fmt.Errorf("%w; a new run does not replace this file: name another one", err)
	}
	defer c.Close()
	if !c.Finished {
		return fmt.Errorf("checkpoint %s has an unfinished run with %d updates: continue it with --resume, or "+
			"remove the file", path, c.Updates)
	}
	return nil
}

func (c *Checkpoint) made() error {
	if c == nil || c.state == nil {
		return errors.New("this Checkpoint was not made by OpenCheckpoint")
	}
	return nil
}
