package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
)

const (
	// sector is the number of bytes that a disk writes as a whole or not at all.
	sector = 512
	// page is a multiple of the sector sizes of disks.
	page = 4096
	// roomStep is how many bytes of room are made at a time.
	roomStep = 256 << 10
	// mostInRoom is the size in bytes of the largest vector that is written into room made in advance.
	// For longer vectors, writing the room costs more than it saves.
	mostInRoom = 16 << 10
)

// start returns the first place, not before the byte at, where a record may begin. The head of a
// record must be in one sector, so that it is on disk as a whole or not at all.
func start(at int64) int64 {
	if left := sector - at%sector; left < recordHead {
		return at + left
	}
	return at
}

// blank is the content of a life's room, which repeats.
type blank [32]byte

// newBlank returns the blank for a life's salt. A sector of a record equals the blank only with the
// probability of a hash collision.
func newBlank(salt []byte) *blank {
	b := blank(sha256.Sum256(append([]byte("proactivedp journal: room"), salt...)))
	return &b
}

// at returns the byte of the room at a place in the file.
func (b *blank) at(place int64) byte { return b[place%int64(len(b))] }

// is reports whether text, which begins at place in the file, has only bytes of the room.
func (b *blank) is(text []byte, place int64) bool {
	for i, got := range text {
		if got != b.at(place+int64(i)) {
			return false
		}
	}
	return true
}

// fill returns the bytes of the room between two places of the file.
func (b *blank) fill(from, to int64) []byte {
	text := make([]byte, to-from)
	for i := range text {
		text[i] = b.at(from + int64(i))
	}
	return text
}

// makeRoom makes room for length bytes of records and, if records are short, for many more.
func (j *Journal) makeRoom(length int) error {
	end := j.end + int64(length)
	if j.life.blank == nil || j.params == 0 || 4*j.params > mostInRoom || end <= j.room {
		return nil
	}
	from, to := max(j.end, j.room), (end+roomStep)/page*page
	if err := j.put(j.life.blank.fill(from, to), from); err != nil {
		return err
	}
	j.room = to
	return nil
}

// unwritten handles a record with a sector that was not written. Usually the machine stopped during
// the record's flush, and unwritten returns errCutOff. But if the rest of the file, which ends at
// size, has a record of a later flush, the record was once complete, so the file is damaged.
func (j *Journal) unwritten(in *bufio.Reader, size int64) error {
	rest, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	for at := size - int64(len(rest)); len(rest) >= recordHead; rest, at = rest[1:], at+1 {
		kind := le.Uint32(rest[8:])
		if kind < lifeRecord || kind > lastKind || le.Uint32(rest[16:]) != sumOfHead(rest) {
			continue
		}
		if at-int64(le.Uint32(rest[12:])) > j.end {
			return errors.New("a record was not written, but others come after it")
		}
	}
	return errCutOff
}

// ungrown returns errCutOff if the rest of the file is only zeros, or room that was being made.
func (j *Journal) ungrown(in *bufio.Reader) error {
	at := j.end
	for ; ; at++ {
		got, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return errCutOff
		}
		if err != nil {
			return err
		}
		if got != 0 && (j.life == nil || got != j.life.blank.at(at)) {
			return errors.New("record has no length")
		}
	}
}

// hasBlankSector reports whether one of the record's sectors, after the first, still has the bytes
// of the room. It peeks at in, because the last sector may continue after the record.
func (j *Journal) hasBlankSector(record []byte, in *bufio.Reader) bool {
	if j.life == nil {
		return false
	}
	behind, _ := in.Peek(sector - 1) // fewer at the file's end
	text := append(bytes.Clone(record), behind...)
	for i := sector - int(j.end%sector); i < len(record); i += sector {
		if j.life.blank.is(text[i:min(i+sector, len(text))], j.end+int64(i)) {
			return true
		}
	}
	return false
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }
