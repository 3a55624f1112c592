// Package journal keeps on disk what a client of a distributed training must not lose: its secret, the run that it
// takes part in, and every release (noised update) that it has made. A release is in the journal before anybody else
// sees any part of it. So a client that starts again sends the same bytes again, and never computes a released round
// a second time.
//
// A journal is a folder with one file and its lock. The file begins with a line that has
// the name and the version of its format. Then come records:
//
//	length of the payload                     8 bytes, little-endian, as all numbers
//	kind                                      4 bytes
//	bytes since its flush's first record      4 bytes
//	CRC-32C of the 16 bytes before            4 bytes
//	CRC-32C of all before and of the payload  4 bytes
//	payload
//
// If the head of a record does not fit into the rest of a sector of 512 bytes, the record begins at
// the next sector.
//
// Each opening appends a record of a new life with a random salt. Open returns when that record is
// on disk. See Root for the use of the salt. With a key, the payloads of a life's records are sealed
// with AES-256-GCM. HKDF-SHA-256 derives the AES key from the key and the life's salt. The nonce is
// the number of the record in its life.
//
// Short records are written into room that was made for many of them in advance, because a flush is
// faster if the file does not grow. The life's salt determines the bytes of the room, which are the
// same in every sector. The room is on disk before a record is written into it.
//
// A record is incomplete if the file ends before it does, or if one of its sectors still has the
// bytes of the room. The machine stopped while the record was being written, so nothing of its flush
// was sent. Open removes the record, unless the file has records of a later flush after it. This
// assumes that a disk writes a sector as a whole or not at all. Any other damage is an error.
package journal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"proactivedp/cluster/internal/wire"
	"proactivedp/internal/files"
	"proactivedp/rng"
)

var (
	// ErrDamaged reports a journal that differs from what was written. It is then not certain which rounds were
	// released.
	ErrDamaged = errors.New("damaged")
	// ErrKey reports a journal that was written with another key than the given one. It also reports a journal that
	// was written without a key if a key is given, and the reverse.
	ErrKey = errors.New("it was not written with this key")
)

// fileName is the file in the journal's folder.
const fileName = "journal"

// MinKey is the length of the shortest key, in bytes.
const MinKey = 16

// Release describes the release of a round whose vector is on disk.
type Release struct {
	Round  int
	Newest int    // the k of the newest broadcast when the round began
	Size   int    // the expected sample size
	Digest uint64 // see wire.Digest

	at     int64  // where its record begins
	number uint64 // of the record in its life
	life   *life
}

// Stretch is a number of consecutive rounds that all had the same sample size.
type Stretch struct{ Size, Rounds int }

// Journal is a client's open journal. Only one process can have it open. It is not safe for
// concurrent use.
type Journal struct {
	path   string
	lock   *files.Lock
	file   *os.File
	params int    // the length of every vector; 0 if not known yet
	end    int64  // where the next record begins
	room   int64  // where the file's room ends; 0 if it has none
	master []byte // the key; nil if there is none
	life   *life
	lives  int

	secret   []byte
	root     *rng.Root // of this opening
	pinned   []byte
	client   int     // whose journal it is, if it is pinned
	first    int     // its first round; a journal that it replaces had the earlier ones
	replaced int     // how many lost journals it replaces
	before   history // the rounds before those in releases
	releases []Release
	buffer   []byte
}

// history is what the ledger and the report need of rounds that will not be sent again.
type history struct {
	sizes []Stretch
	lags  []int // lags[l] is how many rounds began with k = i − l
}

func (h *history) add(r Release) {
	if n := len(h.sizes); n > 0 && h.sizes[n-1].Size == r.Size {
		h.sizes[n-1].Rounds++
	} else {
		h.sizes = append(h.sizes, Stretch{r.Size, 1})
	}
	for lag := r.Round - r.Newest; len(h.lags) <= lag; {
		h.lags = append(h.lags, 0)
	}
	h.lags[r.Round-r.Newest]++
}

func (h *history) rounds() int {
	n := 0
	for _, s := range h.sizes {
		n += s.Rounds
	}
	return n
}

// Open opens the journal in the folder dir, which it creates if needed, and begins a new life of it. key is empty (no
// encryption) or has at least MinKey bytes. Only one process can have a journal open. The error wraps files.ErrHeld,
// ErrDamaged or ErrKey, or comes from the file system.
func Open(dir string, key []byte) (*Journal, error) {
	if len(key) > 0 && len(key) < MinKey {
		return nil, fmt.Errorf("key has %d bytes, must have at least %d", len(key), MinKey)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := files.LockFolder(dir)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: filepath.Join(dir, fileName), lock: lock, master: key}
	if err := j.open(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// open reads the file, and begins a new life in it.
func (j *Journal) open() error {
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|openFlag, 0o600)
	if err != nil {
		return err
	}
	j.file = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 { // new, or created by a process that stopped then
		if j.secret, err = rng.NewSecret(); err != nil {
			return err
		}
		j.lives = 1
		if err := j.rewrite(); err != nil {
			return err
		}
		return j.plant()
	}
	if err := j.read(info.Size()); err != nil {
		return err
	}
	if j.secret == nil {
		return fmt.Errorf("%w: %s has no secret", ErrDamaged, j.path)
	}
	// What is cut off here must not reappear after the new life's first record.
	if err := errors.Join(f.Truncate(min(j.end, info.Size())), f.Sync()); err != nil {
		return err
	}
	if err := j.begin(); err != nil {
		return err
	}
	return j.plant()
}

// plant makes the root of this opening. The record with the opening's salt must already be on disk.
func (j *Journal) plant() error {
	root, err := rng.NewFromSecret(j.secret)
	if err == nil {
		j.root = root.Salted(j.life.salt)
	}
	return err
}

// Close closes the journal and releases its lock.
func (j *Journal) Close() error {
	var errs []error
	if j.file != nil {
		errs = append(errs, j.file.Close())
		j.file = nil
	}
	if j.lock != nil {
		errs = append(errs, j.lock.Release())
		j.lock = nil
	}
	return errors.Join(errs...)
}

// Root returns the root of the samples, noise and dropout of this opening of the journal. It is derived from the
// journal's secret and the opening's salt, so every opening draws other random numbers. If all openings drew the
// same:
//
//  1. A client releases round 5.
//  2. Its journal is restored from a copy that ends with round 4.
//  3. The client computes round 5 again, with other gradients and the same noise.
//  4. The two releases reveal the difference of the gradients.
//
// The root's public name depends only on the secret and identifies the journal: copies of one
// journal have the same name, and no other journal has it.
func (j *Journal) Root() *rng.Root { return j.root }

// Lives returns how often the journal was opened.
func (j *Journal) Lives() int { return j.lives }

// Pinned returns the run and the client to which Pin bound the journal. run is nil if Pin was not called.
func (j *Journal) Pinned() (run []byte, client int) { return slices.Clone(j.pinned), j.client }

// First returns the first round of the journal: 0, or the argument of Begin if it replaces another journal.
func (j *Journal) First() int { return j.first }

// Oldest returns the first round whose vector the journal still has, so that it can be sent again. Earlier vectors
// were forgotten when the server had saved them (see Cover).
func (j *Journal) Oldest() int { return j.first + j.before.rounds() }

// Next returns the first round that this journal has not released.
func (j *Journal) Next() int { return j.Oldest() + len(j.releases) }

// Releases returns the releases that the server has not saved yet, in order. The client must send them until the
// server has saved them (see Cover).
func (j *Journal) Releases() []Release { return slices.Clone(j.releases) }

// Release returns the release of a round. It returns false if the server has saved the round (see
// Cover), or if it is not released yet.
func (j *Journal) Release(round int) (Release, bool) {
	i := round - j.Oldest()
	if i < 0 || i >= len(j.releases) {
		return Release{}, false
	}
	return j.releases[i], true
}

// Sizes returns the expected sample sizes of all released rounds, in order of the rounds. Consecutive rounds with the
// same size are one [Stretch].
func (j *Journal) Sizes() []Stretch { return slices.Clone(j.all().sizes) }

// Lags returns a slice whose element l is the number of released rounds with lag l: round i has the lag
// i − k if the client began it with broadcast k.
func (j *Journal) Lags() []int { return slices.Clone(j.all().lags) }

func (j *Journal) all() history {
	h := history{slices.Clone(j.before.sizes), slices.Clone(j.before.lags)}
	for _, r := range j.releases {
		h.add(r)
	}
	return h
}

// Pin binds the journal to a run, a client's number in the run, and the length of the vectors. run is any text that
// identifies the run. It is an error if the journal is already bound to another run or client.
func (j *Journal) Pin(run []byte, client, params int) error {
	if client < 0 || client > math.MaxInt32 {
		return fmt.Errorf("client = %d, must be in [0, %d]", client, math.MaxInt32)
	}
	if params < 1 || params > wire.MaxParams {
		return fmt.Errorf("length of the vectors = %d, must be in [1, %d]", params, wire.MaxParams)
	}
	if j.pinned != nil {
		if j.client != client {
			return fmt.Errorf("%s belongs to client %d, not to client %d: each client needs its own folder",
				filepath.Dir(j.path), j.client, client)
		}
		if !slices.Equal(j.pinned, run) || j.params != params {
			return fmt.Errorf("%s belongs to another run: each run needs its own folder", filepath.Dir(j.path))
		}
		return nil
	}
	if err := j.write(pinRecord, pinPayload(run, client, params)); err != nil {
		return err
	}
	j.pinned, j.client, j.params = slices.Clone(run), client, params
	return nil
}

// Begin sets the first round of a journal that replaces a lost journal. The rounds before first were released by the
// lost journal. The journal must be pinned and have no rounds.
func (j *Journal) Begin(first int) error {
	if j.pinned == nil || j.Next() != 0 || first < 1 || first > math.MaxInt32 {
		return fmt.Errorf("first round = %d after %d rounds, must be at least 1, after Pin and before any "+
			"release", first, j.Next())
	}
	if err := j.write(firstRecord, numberPayload(first)); err != nil {
		return err
	}
	j.first = first
	return nil
}

// Replaced returns how many lost journals this one replaces: the largest argument of Replace so far.
func (j *Journal) Replaced() int { return j.replaced }

// MostReplaced is the largest number of lost journals that a journal can replace.
const MostReplaced = 1 << 16

// Replace records that the journal replaces n lost ones, unless it already records at least n. Every
// later opening then counts the rounds of the lost journals too, even if nobody else remembers them.
func (j *Journal) Replace(n int) error {
	if n <= j.replaced {
		return nil
	}
	if n > MostReplaced {
		return fmt.Errorf("replaces %d lost journals, must be at most %d", n, MostReplaced)
	}
	if err := j.write(replacedRecord, numberPayload(n)); err != nil {
		return err
	}
	j.replaced = n
	return nil
}

// Entry is a release with its vector, for Append.
type Entry struct {
	Release
	U []float32
}

// Append writes the entries to disk with one flush, and returns them as releases with their places in the file. The
// entries must be the rounds after the last released one, in order. Send their vectors only after Append has
// returned. After an error, send none of them and close the journal.
func (j *Journal) Append(entries ...Entry) ([]Release, error) {
	if j.pinned == nil {
		return nil, errors.New("Append was called before Pin")
	}
	length := 0
	for i, e := range entries {
		if err := j.fits(e, j.Next()+i); err != nil {
			return nil, err
		}
		length += recordLength(j.life, len(e.U)) + recordHead
	}
	batch, releases := slices.Grow(j.buffer[:0], length), make([]Release, len(entries))
	for i, e := range entries {
		r := e.Release
		r.at, r.number, r.life = start(j.end+int64(len(batch))), j.life.next+uint64(i), j.life
		r.Digest = wire.Digest(e.U)
		from := int(r.at - j.end)
		batch = append(batch, make([]byte, from-len(batch))...)
		record := seal(r.payload(batch[from:], e.U), releaseRecord, r.life, r.number, from)
		batch = batch[:from+len(record)] // its capacity is enough
		releases[i] = r
	}
	j.buffer = batch
	if err := j.flush(batch, len(entries)); err != nil {
		return nil, err
	}
	j.releases = append(j.releases, releases...)
	return releases, nil
}

// fits returns an error if an entry cannot be the journal's release of a round.
func (j *Journal) fits(e Entry, round int) error {
	switch {
	case len(e.U) != j.params:
		return fmt.Errorf("release has %d numbers, must have %d", len(e.U), j.params)
	case e.Round != round || e.Newest < 0 || e.Newest > e.Round:
		return fmt.Errorf("release of round %d with k = %d, must be of round %d with k at most the round",
			e.Round, e.Newest, round)
	}
	return nil
}

// Read sets u to the vector of release r, with the same bits as in Append.
func (j *Journal) Read(r Release, u []float32) error {
	length := recordLength(r.life, len(u))
	j.buffer = slices.Grow(j.buffer[:0], length)[:length]
	if _, err := j.file.ReadAt(j.buffer, r.at); err != nil {
		return err
	}
	kind, payload, err := openRecord(j.buffer, r.life, r.number)
	if err != nil {
		return err
	}
	got, floats, err := parseRelease(payload, len(u))
	if err != nil || kind != releaseRecord || got.Round != r.Round {
		return errors.Join(fmt.Errorf("%w: round %d in %s", ErrDamaged, r.Round, j.path), err)
	}
	wire.Floats(u, floats)
	if wire.Digest(u) != r.Digest {
		return fmt.Errorf("%w: round %d in %s does not match its digest", ErrDamaged, r.Round, j.path)
	}
	return nil
}

// rewriteFrom is the number of bytes of covered releases at which Cover rewrites the file without them.
const rewriteFrom = 4 << 20

// Cover records that the server has saved all rounds below next. The journal may forget their vectors, because they
// are never sent again.
func (j *Journal) Cover(next int) error {
	n := 0
	for n < len(j.releases) && j.releases[n].Round < next {
		j.before.add(j.releases[n])
		n++
	}
	j.releases = slices.Delete(j.releases, 0, n)
	live := int64(0)
	if len(j.releases) > 0 {
		live = j.end - j.releases[0].at
	}
	if n == 0 || j.end-live < max(rewriteFrom, live) {
		return nil
	}
	return j.rewrite()
}
