package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/cpu"
	"proactivedp/internal/f32"
	"proactivedp/internal/strictjson"
	"proactivedp/models"
	"proactivedp/sim"
)

// CodeVersion is the version of what the spec means, part of the identity of every
// checkpoint and of every finished cell of a figure. Raise it when a change of the
// code changes what a spec gives (the golden tests of packages sim, train and
// experiments show that); where it does so for some models alone, for those.
func (s Spec) CodeVersion() int {
	if s.Holdout > 0 {
		return 6
	}
	if k, err := kindOf(s.Model); err == nil && k.network && !k.tiled {
		return 4
	}
	return 5
}

// identity is all that decides the bits of a run: a checkpoint is of one
// identity, and only a run of the same goes on from it.
type identity struct {
	Spec    Spec     `json:"config"`
	Data    string   `json:"data_sha256"`
	Code    int      `json:"code"`              // the spec's CodeVersion, as computed
	Kernels string   `json:"kernels,omitempty"` // see Spec.Kernels
	Arch    string   `json:"arch"`              // the processor architecture: exponentials differ in their last bits
	Stage   *stageID `json:"leg,omitempty"`     // what a stage has besides its spec
}

func (p *Prepared) identity() identity {
	return identity{p.Spec, p.source.Hash(), p.Spec.CodeVersion(), p.Spec.Kernels(), cpu.Arch(), p.stage}
}

// goesOn reports why a run of identity id cannot go on from a checkpoint of
// another.
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
		errs = append(errs, fmt.Errorf("kernels = %v, the checkpoint has %s, and no other goes on with its "+
			"bits: choose by PROACTIVEDP_KERNELS", f32.Kernels(), classes(from.Kernels)))
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

// classes says of which kernels what [Spec.Kernels] has returned is.
func classes(of string) string {
	if of == "" {
		return "those of avx2, avx512 or neon"
	}
	return of
}

// header is what a checkpoint's file says of its run, before the state.
type header struct {
	identity
	Updates  int             `json:"updates"` // updates that the server has applied so far
	Finished bool            `json:"finished"`
	Seconds  float64         `json:"seconds"`            // seconds of training so far
	Released string          `json:"released_sha256"`    // see releasedHash
	Averaged int             `json:"averaged,omitempty"` // how many broadcasts are in the averaged model
	Watched  json.RawMessage `json:"watched,omitempty"`  // what an observer has seen so far
	Notes    []string        `json:"notes,omitempty"`    // see Prepared.Notes
}

// Checkpoint is a training run that a file keeps, up to some event.
//
// A Checkpoint is made by OpenCheckpoint or OpenKeyedCheckpoint. The methods of any other return an error or, if they
// have none to return, may panic.
type Checkpoint struct {
	header
	path  string
	file  *os.File
	key   []byte
	state *sim.Checkpoint
}

// OpenCheckpoint reads the checkpoint at path, and refuses one that is damaged or
// that this program did not write. It is to be closed.
func OpenCheckpoint(path string) (*Checkpoint, error) { return OpenKeyedCheckpoint(path, nil) }

// OpenKeyedCheckpoint is OpenCheckpoint of one that was kept under a key (Keep.Key):
// one that was not, or under another key, is refused. Without a key, a checkpoint
// can be anybody's: its digest finds damage and no forgery.
func OpenKeyedCheckpoint(path string, key []byte) (*Checkpoint, error) {
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
	if c.state, err = sim.OpenKeyedCheckpoint(c.file, info.Size(), c.key); err != nil {
		return err
	}
	// Fields of a newer program may decide the result: they are refused.
	if err := errors.Join(strictjson.Decode(c.state.Header, &c.header),
		strictjson.Check(c.state.Header, false)); err != nil {
		return fmt.Errorf("which run it is of: %w", err)
	}
	return nil
}

// Close closes the file.
func (c *Checkpoint) Close() error {
	if err := c.made(); err != nil {
		return err
	}
	return c.file.Close()
}

// Prepare builds the run that the checkpoint is of. The data set must have the
// content that it had, wherever it is now.
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

// restore puts v, which runs p, into the checkpoint's state.
func (c *Checkpoint) restore(p *Prepared, v *sim.Virtual) error {
	if err := p.identity().goesOn(c.identity); err != nil {
		return err
	}
	if err := c.state.Restore(v); err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.path, err)
	}
	if err := c.checkReleased(v); err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.path, err)
	}
	return nil
}

// restoreAverage puts a, whose mean has been restored with p's state, into the
// checkpoint's.
func (c *Checkpoint) restoreAverage(p *Prepared, a *averager) error {
	if a == nil {
		return nil
	}
	if most := p.Config.Run().Rounds; c.Averaged < 0 || c.Averaged > most {
		return fmt.Errorf("checkpoint %s: %d broadcasts in the averaged model, must be in [0, %d]", c.path,
			c.Averaged, most)
	}
	a.count = c.Averaged
	return models.CheckFinite(a.params())
}

// errReleased reports a checkpoint whose config is not what its run released under.
var errReleased = errors.New("what was released, and with which noise, is not what the config and the ledgers say")

// checkReleased reports that what the file says was released is not what its config
// and its ledgers come to: a statement by the config would be of another run.
func (c *Checkpoint) checkReleased(v *sim.Virtual) error {
	if c.Released != releasedHash(v) {
		return errReleased
	}
	return nil
}

// releasedHash is the SHA-256 of all events in the ledgers of v's clients: with the
// noise multiplier, sampling and adjacency of each, which the ledgers in the file
// leave to the config.
func releasedHash(v *sim.Virtual) string {
	sum := sha256.New()
	for i, ledger := range v.Ledgers() {
		for _, e := range ledger.Events() {
			fmt.Fprintf(sum, "%d %+v\n", i, e)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// CanKeep reports why runs of the spec keep no checkpoints.
func (s Spec) CanKeep() error {
	var errs []error
	if s.Runner != VirtualRunner {
		errs = append(errs, fmt.Errorf("runner = %q keeps no checkpoints, as it stands still at no instant and "+
			"its result cannot be repeated; must be %q", s.Runner, VirtualRunner))
	}
	if s.SeedFromOS {
		errs = append(errs, errors.New("a run whose randomness is the operating system's keeps no checkpoints: "+
			"they would hold the secret of its noise, and without it rounds would be released twice; give a "+
			"seed for a simulation; the loop of package auto comes through interrupts of a release"))
	}
	return errors.Join(errs...)
}

// CheckKeep refuses to begin a run whose checkpoints would replace an unfinished
// run or a file that is something else.
// The key is that of a checkpoint which may be there, nil if it has none.
func CheckKeep(path string, key []byte) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (info.Size() == 0 || !info.Mode().IsRegular()):
		return nil
	case err != nil:
		return err
	}
	c, err := OpenKeyedCheckpoint(path, key)
	if err != nil {
		return fmt.Errorf("%w; a new run does not replace it: name another file", err)
	}
	defer c.Close()
	if !c.Finished {
		return fmt.Errorf("checkpoint %s holds a run that is not finished, %d updates of it; resume it, or "+
			"remove the file", path, c.Updates)
	}
	return nil
}

// made reports a checkpoint that cannot be read.
func (c *Checkpoint) made() error {
	if c == nil || c.state == nil {
		return errors.New("this Checkpoint was not made by OpenCheckpoint")
	}
	return nil
}
