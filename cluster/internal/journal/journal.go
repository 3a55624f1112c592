// Package journal keeps what a client of a distributed training must not lose: its
// secret, which run it takes part in, and every release that it has made. A release is
// in the journal, on disk, before anybody else sees a bit of it. So a client that is
// started again sends the same bytes again, and never computes a released round anew.
//
// A journal is a folder with one file and its lock. The file begins with a line that
// says what it is and the version of its format; then there are records:
//
//	length of the payload                     8 bytes, little-endian, as all numbers
//	kind                                      4 bytes
//	bytes since its flush's first record      4 bytes
//	CRC-32C of the 16 bytes before            4 bytes
//	CRC-32C of all before and of the payload  4 bytes
//	payload
//
// A record whose head would not fit into what is left of a sector of 512 bytes begins with the
// next one.
//
// Each opening adds a record of a new life with a random salt, and returns when that record is on
// disk. See Root for the use of the salt. Under a key the payloads of the records of a life are
// sealed with AES-256-GCM, by a key that HKDF-SHA-256 makes of the key and the life's salt, and the
// number of the record in its life as the nonce.
//
// Short records are written into room that was made for many of them, since a flush is
// quicker where the file does not grow. Room holds bytes that the life's salt determines, the
// same in every sector, and is on disk before a record is written into it.
//
// A record that the file ends before, or of which a sector is still room, was being written
// when the machine stopped, and nothing of its flush was sent: it is taken away, unless there
// is something behind it of a later flush. That a disk writes a sector whole or not at all is
// taken for granted. Any other damage is an error, and no reason to go on.
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
	// ErrDamaged reports a journal that is not as it was written. Which rounds were
	// released is then not known for sure.
	ErrDamaged = errors.New("damaged")
	// ErrKey reports a journal that was not written under the key given, or that was
	// written under one where none is given.
	ErrKey = errors.New("it was not written under this key")
)

// fileName is the file in the journal's folder.
const fileName = "journal"

// MinKey is the length of the shortest key, in bytes.
const MinKey = 16

// Release says of a round what was released. Its vector is on disk.
type Release struct {
	Round  int
	Newest int    // the k of the newest broadcast when the round began
	Size   int    // the expected sample size
	Digest uint64 // see wire.Digest

	at     int64  // where its record begins
	number uint64 // of the record in its life
	life   *life
}

// Stretch is rounds of one sample size.
type Stretch struct{ Size, Rounds int }

// Journal is a client's journal, held by one process. Not safe for concurrent use.
type Journal struct {
	path   string
	lock   *files.Lock
	file   *os.File
	params int    // the length of every vector; 0: not known yet
	end    int64  // where the next record begins
	room   int64  // up to where the file has room; 0: it has none
	master []byte // the key; nil: none
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

// history is what is left to know of rounds that need not be sent again.
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

// Open opens the journal in the folder dir, made if it is not there, under a key of
// MinKey bytes or more, or none. Nobody else may have it open. The error wraps
// lockfile.ErrHeld, ErrDamaged or ErrKey, or is of the file.
func Open(dir string, key []byte) (*Journal, error) {
	if len(key) > 0 && len(key) < MinKey {
		return nil, fmt.Errorf("a key of %d bytes, must have at least %d", len(key), MinKey)
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
	if info.Size() == 0 { // new, or made by a process that got no further
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
	// What is taken away must not come back behind the new life's first record.
	if err := errors.Join(f.Truncate(min(j.end, info.Size())), f.Sync()); err != nil {
		return err
	}
	if err := j.begin(); err != nil {
		return err
	}
	return j.plant()
}

// plant makes the root of this opening. The record with its salt must be on disk.
func (j *Journal) plant() error {
	root, err := rng.NewFromSecret(j.secret)
	if err == nil {
		j.root = root.Salted(j.life.salt)
	}
	return err
}

// Close lets go of the journal.
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

// Root returns the root of this opening's samples, noise and dropout, derived from the journal's
// secret and the opening's salt. So every opening has its own streams. Otherwise this could happen:
// 1. a client releases round 5, 2. its journal is restored from a copy that ends with round 4, 3.
// it computes round 5 again, with other gradients and the same noise, 4. the two releases reveal
// the difference of the gradients. The root's public name depends on the secret only. It names the
// journal: copies of one journal have the same name, and no other journal has it.
func (j *Journal) Root() *rng.Root { return j.root }

// Lives returns how often the journal was opened.
func (j *Journal) Lives() int { return j.lives }

// Pinned returns the run and the client that Pin wrote down; nil if it was not called.
func (j *Journal) Pinned() (run []byte, client int) { return slices.Clone(j.pinned), j.client }

// First returns the journal's first round: 0, or what Begin said.
func (j *Journal) First() int { return j.first }

// Oldest returns the first round that the journal can still send. It has forgotten the vectors of
// earlier rounds, because they were covered.
func (j *Journal) Oldest() int { return j.first + j.before.rounds() }

// Next returns the first round that was not released.
func (j *Journal) Next() int { return j.Oldest() + len(j.releases) }

// Releases returns the releases that must be sent until they are covered, in order.
func (j *Journal) Releases() []Release { return slices.Clone(j.releases) }

// Release returns the release of a round; false if it is covered, or was not made.
func (j *Journal) Release(round int) (Release, bool) {
	i := round - j.Oldest()
	if i < 0 || i >= len(j.releases) {
		return Release{}, false
	}
	return j.releases[i], true
}

// Sizes returns the sample sizes of all released rounds, in order.
func (j *Journal) Sizes() []Stretch { return slices.Clone(j.all().sizes) }

// Lags returns how many of the released rounds began with k = i − l, at l.
func (j *Journal) Lags() []int { return slices.Clone(j.all().lags) }

func (j *Journal) all() history {
	h := history{slices.Clone(j.before.sizes), slices.Clone(j.before.lags)}
	for _, r := range j.releases {
		h.add(r)
	}
	return h
}

// Pin writes down which run the journal is of, in the caller's words, which of its clients,
// and the length of its vectors. It is an error if the journal is of another run or client
// already.
func (j *Journal) Pin(run []byte, client, params int) error {
	if client < 0 || client > math.MaxInt32 {
		return fmt.Errorf("client = %d, must be in [0, %d]", client, math.MaxInt32)
	}
	if params < 1 || params > wire.MaxParams {
		return fmt.Errorf("vectors of %d numbers, must be in [1, %d]", params, wire.MaxParams)
	}
	if j.pinned != nil {
		if j.client != client {
			return fmt.Errorf("%s is of client %d, not of client %d: a client needs a folder of its own",
				filepath.Dir(j.path), j.client, client)
		}
		if !slices.Equal(j.pinned, run) || j.params != params {
			return fmt.Errorf("%s is of another run: a run needs a folder of its own", filepath.Dir(j.path))
		}
		return nil
	}
	if err := j.write(pinRecord, pinPayload(run, client, params)); err != nil {
		return err
	}
	j.pinned, j.client, j.params = slices.Clone(run), client, params
	return nil
}

// Begin makes first the first round of a journal that replaces a lost one, which released the
// rounds before. The journal must be pinned and have no rounds.
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

// Replaced returns how many lost journals this one replaces, the most that Replace was told.
func (j *Journal) Replaced() int { return j.replaced }

// MostReplaced is how many lost journals one can replace.
const MostReplaced = 1 << 16

// Replace writes down that the journal replaces n lost ones, if it does not say so many yet. What
// they released is counted in each later life, whether somebody else remembers them or not.
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

// Entry is a release that is to be written, with its vector.
type Entry struct {
	Release
	U []float32
}

// Append writes releases, of the rounds after the last one in order, to disk by one flush,
// and returns them as they are there. Then their vectors may be sent; after an error none
// may, and the journal must be closed.
func (j *Journal) Append(entries ...Entry) ([]Release, error) {
	if j.pinned == nil {
		return nil, errors.New("a release before Pin")
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

// fits reports that an entry cannot be the journal's release of a round.
func (j *Journal) fits(e Entry, round int) error {
	switch {
	case len(e.U) != j.params:
		return fmt.Errorf("a release of %d numbers, must be of %d", len(e.U), j.params)
	case e.Round != round || e.Newest < 0 || e.Newest > e.Round:
		return fmt.Errorf("release of round %d with k = %d, must be of round %d and k at most that",
			e.Round, e.Newest, round)
	}
	return nil
}

// Read sets u to a release's vector, the bits that were appended.
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
		return fmt.Errorf("%w: round %d in %s is not what its digest says", ErrDamaged, r.Round, j.path)
	}
	return nil
}

// rewriteFrom is how many bytes of what is covered make it worth writing the file anew.
const rewriteFrom = 4 << 20

// Cover says that releases of rounds below next are safe with the server and need never
// be sent again.
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
