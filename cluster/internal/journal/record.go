package journal

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"proactivedp/cluster/internal/wire"
	"proactivedp/internal/files"
	"proactivedp/rng"
)

// beginning is the first line of every journal file. Raise its number whenever the content changes.
const beginning = "proactivedp journal 4\n"

// anyBeginning is the text with which journals of every version begin.
const anyBeginning = "proactivedp journal "

// The kinds of records.
const (
	lifeRecord     = 1 // the number of lives so far, whether it is sealed, and the salt
	secretRecord   = 2
	pinRecord      = 3 // the length of the vectors, the client, and the run
	historyRecord  = 4 // sizes and lags of rounds that will not be sent again
	releaseRecord  = 5 // round, k, size, digest and vector
	firstRecord    = 6 // the journal's first round, if that is not round 0
	replacedRecord = 7 // how many lost journals it replaces, if any
	lastKind       = replacedRecord
)

const (
	recordHead  = 24
	releaseHead = 32
	overhead    = 16 // of a sealed payload
	// mostSmall bounds the payload of a record without a vector, in bytes.
	mostSmall = 64 << 20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

// life is the time from one opening of the journal to the next.
type life struct {
	salt  []byte
	aead  cipher.AEAD // nil if the journal has no key
	next  uint64      // number of the next record
	blank *blank      // the bytes of its room; nil if it makes none
}

func (l *life) sealed() bool { return l != nil && l.aead != nil }

// newLife returns the life with the given salt.
func newLife(key, salt []byte) (*life, error) {
	if len(key) == 0 {
		return &life{salt: slices.Clone(salt), blank: newBlank(salt)}, nil
	}
	own, err := hkdf.Key(sha256.New, key, salt, "proactivedp journal", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &life{salt: slices.Clone(salt), aead: aead, blank: newBlank(salt)}, nil
}

func nonce(number uint64) []byte { return le.AppendUint64(make([]byte, 4, 12), number) }

// seal completes a record and returns it. Its payload is everything after the first recordHead
// bytes. The parameter behind is the distance in bytes from the first record of its flush.
func seal(record []byte, kind uint32, l *life, number uint64, behind int) []byte {
	le.PutUint32(record[8:], kind)
	if l.sealed() {
		record = l.aead.Seal(record[:recordHead], nonce(number), record[recordHead:], record[8:12])
	}
	le.PutUint64(record, uint64(len(record)-recordHead))
	le.PutUint32(record[12:], uint32(behind))
	le.PutUint32(record[16:], sumOfHead(record))
	le.PutUint32(record[20:], sumOf(record))
	return record
}

func sumOfHead(record []byte) uint32 { return crc32.Checksum(record[:16], castagnoli) }

func sumOf(record []byte) uint32 {
	return crc32.Update(crc32.Checksum(record[:20], castagnoli), castagnoli, record[recordHead:])
}

// isWhole reports whether a record is undamaged.
func isWhole(record []byte) bool { return le.Uint32(record[20:]) == sumOf(record) }

// openRecord returns the kind and the payload of an undamaged record.
func openRecord(record []byte, l *life, number uint64) (kind uint32, payload []byte, err error) {
	if !isWhole(record) {
		return 0, nil, fmt.Errorf("%w: the CRC of a record does not match its content", ErrDamaged)
	}
	kind, payload = le.Uint32(record[8:]), record[recordHead:]
	if l.sealed() && kind != lifeRecord {
		if payload, err = l.aead.Open(payload[:0], nonce(number), payload, record[8:12]); err != nil {
			return 0, nil, fmt.Errorf("%w: record %d cannot be decrypted", ErrKey, number)
		}
	}
	return kind, payload, nil
}

// write adds a record to the file and flushes it to disk.
func (j *Journal) write(kind uint32, record []byte) error {
	j.buffer = seal(record, kind, j.life, j.life.next, 0)
	return j.flush(j.buffer, 1)
}

// flush appends n complete records to the file and flushes it to disk.
func (j *Journal) flush(records []byte, n int) error {
	if j.file == nil {
		return os.ErrClosed
	}
	if err := j.makeRoom(len(records)); err != nil {
		return err
	}
	if err := j.put(records, j.end); err != nil {
		return err
	}
	j.end = start(j.end + int64(len(records)))
	j.life.next += uint64(n)
	return nil
}

// put writes b to the file, from the place at on, and returns when it is on disk.
func (j *Journal) put(b []byte, at int64) error {
	_, err := j.file.WriteAt(b, at)
	if err == nil && !flushedByWriting {
		err = j.file.Sync()
	}
	return err
}

// begin begins a new life at the end of the file.
func (j *Journal) begin() error {
	record, l, err := j.birth(j.lives + 1)
	if err != nil {
		return err
	}
	j.life = &life{} // a life's own record is not sealed, and its salt must be on disk before any room
	if err := j.write(lifeRecord, record); err != nil {
		return err
	}
	j.life = l
	j.lives++
	return nil
}

// birth returns a new life with a new salt, and its record.
func (j *Journal) birth(number int) ([]byte, *life, error) {
	salt, err := rng.NewSecret()
	if err != nil {
		return nil, nil, err
	}
	l, err := newLife(j.master, salt)
	if err != nil {
		return nil, nil, err
	}
	record := le.AppendUint32(make([]byte, recordHead), uint32(number))
	record = le.AppendUint32(record, truth(l.sealed()))
	return append(record, salt...), l, nil
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// recordLength returns the length in bytes of a record of a release with params numbers in a life.
func recordLength(l *life, params int) int {
	length := recordHead + releaseHead + 4*params
	if l.sealed() {
		length += overhead
	}
	return length
}

// pinHead is the number of bytes in a pin's payload before the run.
const pinHead = 8

func pinPayload(run []byte, client, params int) []byte {
	record := le.AppendUint32(make([]byte, recordHead), uint32(params))
	return append(le.AppendUint32(record, uint32(client)), run...)
}

func numberPayload(n int) []byte { return le.AppendUint64(make([]byte, recordHead), uint64(n)) }

// payload appends the record for a release with the vector u to dst, which must be empty.
func (r Release) payload(dst []byte, u []float32) []byte {
	dst = append(dst, make([]byte, recordHead)...)
	for _, n := range [...]int{r.Round, r.Newest, r.Size} {
		dst = le.AppendUint64(dst, uint64(n))
	}
	return wire.AppendFloats(le.AppendUint64(dst, r.Digest), u)
}

func parseRelease(payload []byte, params int) (Release, []byte, error) {
	if len(payload) != releaseHead+4*params {
		return Release{}, nil, fmt.Errorf("release has %d bytes, must have %d", len(payload), releaseHead+4*params)
	}
	var n [3]int
	for i := range n {
		v := le.Uint64(payload[8*i:])
		if v > math.MaxInt32 {
			return Release{}, nil, fmt.Errorf("release has the invalid number %d", v)
		}
		n[i] = int(v)
	}
	return Release{Round: n[0], Newest: n[1], Size: n[2], Digest: le.Uint64(payload[24:])}, payload[releaseHead:], nil
}

func (h *history) payload() []byte {
	record := le.AppendUint64(make([]byte, recordHead), uint64(len(h.sizes)))
	for _, s := range h.sizes {
		record = le.AppendUint64(le.AppendUint64(record, uint64(s.Size)), uint64(s.Rounds))
	}
	for _, n := range h.lags {
		record = le.AppendUint64(record, uint64(n))
	}
	return record
}

func parseHistory(payload []byte) (history, error) {
	var h history
	var n []int
	for ; len(payload) >= 8; payload = payload[8:] {
		v := le.Uint64(payload)
		if v > math.MaxInt32 {
			return h, fmt.Errorf("history has the invalid number %d", v)
		}
		n = append(n, int(v))
	}
	if len(payload) != 0 || len(n) == 0 || n[0] > (len(n)-1)/2 {
		return h, errors.New("history is cut off")
	}
	sizes, lags := n[1:1+2*n[0]], n[1+2*n[0]:]
	for i := 0; i < len(sizes); i += 2 {
		h.sizes = append(h.sizes, Stretch{sizes[i], sizes[i+1]})
	}
	h.lags = slices.Clip(lags)
	counted := 0
	for _, rounds := range lags {
		counted += rounds
	}
	if counted != h.rounds() {
		return h, fmt.Errorf("history has lags of %d rounds, must have %d", counted, h.rounds())
	}
	return h, nil
}

// read reads the file of size bytes. Afterwards j.end is the end of its last complete record.
func (j *Journal) read(size int64) error {
	damaged := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, j.path, fmt.Errorf(format, args...))
	}
	in := bufio.NewReaderSize(j.file, 1<<20)
	head := make([]byte, len(beginning))
	if _, err := io.ReadFull(in, head); err != nil || !strings.HasPrefix(string(head), anyBeginning) {
		return damaged("it does not begin with %q", beginning)
	}
	if string(head) != beginning {
		return fmt.Errorf("%s begins with %q, must begin with %q: it was written by another version of the program; "+
			"finish the run with that version", j.path, head, beginning)
	}
	j.end = start(int64(len(beginning)))
	for j.end < size {
		record, err := j.next(in, size-j.end)
		if errors.Is(err, errCutOff) {
			return nil
		}
		if err != nil {
			return damaged("at byte %d: %w", j.end, err)
		}
		if err := j.take(record); err != nil {
			if errors.Is(err, ErrKey) {
				return fmt.Errorf("%w: %s", err, j.path)
			}
			return damaged("at byte %d: %w", j.end, err)
		}
		behind := j.end + int64(len(record))
		j.end = start(behind)
		if _, err := in.Discard(int(j.end - behind)); err != nil && !errors.Is(err, io.EOF) {
			return damaged("at byte %d: %w", behind, err)
		}
	}
	return nil
}

// errCutOff reports an incomplete record at the end of the file.
var errCutOff = errors.New("cut off")

// next reads a record. left is how many bytes the file has left, including the record.
func (j *Journal) next(in *bufio.Reader, left int64) ([]byte, error) {
	if left < recordHead {
		return nil, errCutOff
	}
	head, err := in.Peek(recordHead)
	if err != nil {
		return nil, err
	}
	switch {
	case j.life != nil && j.life.blank.is(head, j.end):
		return nil, j.unwritten(in, j.end+left)
	case allZero(head): // the file has grown, but its bytes were not written
		return nil, j.ungrown(in)
	case le.Uint32(head[16:]) != sumOfHead(head):
		return nil, errors.New("the CRC of a record's head does not match its content")
	}
	kind, length := le.Uint32(head[8:]), le.Uint64(head)
	if kind < lifeRecord || kind > lastKind || length > 4*wire.MaxParams+mostSmall {
		return nil, fmt.Errorf("record of kind %d has the invalid length %d", kind, length)
	}
	if length > uint64(left-recordHead) {
		return nil, errCutOff
	}
	n := recordHead + int(length)
	j.buffer = slices.Grow(j.buffer[:0], n)[:n]
	if _, err = io.ReadFull(in, j.buffer); err != nil {
		return nil, err
	}
	if !isWhole(j.buffer) && j.hasBlankSector(j.buffer, in) {
		return nil, j.unwritten(in, j.end+left)
	}
	return j.buffer, nil
}

// take adds the content of a record to j.
func (j *Journal) take(record []byte) error {
	number := uint64(0)
	if j.life != nil {
		number = j.life.next
		j.life.next++
	}
	kind, payload, err := openRecord(record, j.life, number)
	if err != nil {
		return err
	}
	if (j.life == nil) != (kind == lifeRecord) && j.life == nil {
		return fmt.Errorf("record of kind %d before the first life", kind)
	}
	switch kind {
	case lifeRecord:
		return j.takeLife(payload)
	case secretRecord:
		if len(payload) < rng.MinSecret || len(payload) > rng.MaxSecret || j.secret != nil {
			return fmt.Errorf("secret has %d bytes", len(payload))
		}
		j.secret = slices.Clone(payload)
	case pinRecord:
		if len(payload) < pinHead || j.pinned != nil {
			return errors.New("the run is empty or not the first one")
		}
		j.params, j.client = int(le.Uint32(payload)), int(le.Uint32(payload[4:]))
		j.pinned = slices.Clone(payload[pinHead:])
		if j.params < 1 || j.params > wire.MaxParams || j.client > math.MaxInt32 {
			return fmt.Errorf("length of the vectors = %d or client = %d is out of range", j.params, j.client)
		}
	case firstRecord:
		if len(payload) != 8 || j.pinned == nil || j.Next() != 0 {
			return errors.New("the first round is set after other rounds")
		}
		first := le.Uint64(payload)
		if first < 1 || first > math.MaxInt32 {
			return fmt.Errorf("first round = %d is out of range", first)
		}
		j.first = int(first)
	case replacedRecord:
		if len(payload) != 8 {
			return fmt.Errorf("the number of lost journals has %d bytes", len(payload))
		}
		n := le.Uint64(payload)
		if n <= uint64(j.replaced) || n > MostReplaced {
			return fmt.Errorf("number of lost journals = %d after %d", n, j.replaced)
		}
		j.replaced = int(n)
	case historyRecord:
		if len(j.before.sizes) > 0 || len(j.releases) > 0 {
			return errors.New("there is a second history")
		}
		j.before, err = parseHistory(payload)
		return err
	case releaseRecord:
		r, _, err := parseRelease(payload, j.params)
		if err != nil {
			return err
		}
		if r.Round != j.Next() || r.Newest > r.Round {
			return fmt.Errorf("release of round %d with k = %d, must be of round %d", r.Round, r.Newest, j.Next())
		}
		r.at, r.number, r.life = j.end, number, j.life
		j.releases = append(j.releases, r)
	default:
		return fmt.Errorf("record of unknown kind %d", kind)
	}
	return nil
}

func (j *Journal) takeLife(payload []byte) error {
	if len(payload) != 8+rng.MinSecret || le.Uint32(payload[4:]) > 1 {
		return fmt.Errorf("life has %d bytes", len(payload))
	}
	lives, sealed := int(le.Uint32(payload)), le.Uint32(payload[4:]) == 1
	if sealed != (len(j.master) > 0) {
		return ErrKey
	}
	if lives < j.lives || lives > math.MaxInt32 {
		return fmt.Errorf("life %d comes after life %d", lives, j.lives)
	}
	l, err := newLife(j.master, payload[8:])
	if err != nil {
		return err
	}
	j.lives, j.life = lives, l
	return nil
}

// rewrite writes a new file without the vectors that will not be sent again, and continues with
// that file.
func (j *Journal) rewrite() error {
	birth, l, err := j.birth(j.lives)
	if err != nil {
		return err
	}
	copied := Journal{life: l}
	out, err := files.Create(j.path)
	if err != nil {
		return err
	}
	defer out.Discard()
	w := bufio.NewWriterSize(out, 1<<20)
	if err := errors.Join(j.copyTo(w, birth, &copied), w.Flush()); err != nil {
		return err
	}
	old := j.file
	j.file = nil // after a failure the journal is closed; also, Windows cannot rename over an open file
	if err := errors.Join(old.Close(), out.Commit()); err != nil {
		return err
	}
	f, err := os.OpenFile(j.path, os.O_RDWR|openFlag, 0o600)
	if err != nil {
		return err
	}
	j.file, j.life, j.end, j.room, j.releases = f, l, copied.end, 0, copied.releases
	return nil
}

// copyTo writes everything that the journal must keep to w, beginning with the record birth. It
// sets the places of the records in copied.
func (j *Journal) copyTo(w io.Writer, birth []byte, copied *Journal) error {
	put := func(kind uint32, record []byte, l *life) error {
		record = seal(record, kind, l, copied.life.next, 0)
		if kind != lifeRecord {
			copied.life.next++
		}
		behind := copied.end + int64(len(record))
		copied.end = start(behind)
		_, err := w.Write(append(record, make([]byte, copied.end-behind)...))
		return err
	}
	if _, err := io.WriteString(w, beginning); err != nil {
		return err
	}
	copied.end = start(int64(len(beginning)))
	if err := put(lifeRecord, birth, nil); err != nil {
		return err
	}
	for _, part := range []struct {
		there  bool
		kind   uint32
		record []byte
	}{
		{true, secretRecord, append(make([]byte, recordHead), j.secret...)},
		{j.pinned != nil, pinRecord, pinPayload(j.pinned, j.client, j.params)},
		{j.first > 0, firstRecord, numberPayload(j.first)},
		{j.replaced > 0, replacedRecord, numberPayload(j.replaced)},
		{len(j.before.sizes) > 0, historyRecord, j.before.payload()},
	} {
		if !part.there {
			continue
		}
		if err := put(part.kind, part.record, copied.life); err != nil {
			return err
		}
	}
	u, space := make([]float32, j.params), make([]byte, 0, recordLength(copied.life, j.params)+recordHead)
	for _, r := range j.releases {
		if err := j.Read(r, u); err != nil {
			return err
		}
		moved := r
		moved.at, moved.number, moved.life = copied.end, copied.life.next, copied.life
		if err := put(releaseRecord, r.payload(space, u), copied.life); err != nil {
			return err
		}
		copied.releases = append(copied.releases, moved)
	}
	return nil
}
