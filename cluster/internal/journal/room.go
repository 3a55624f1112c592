package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
)

const (
	// sector is what a disk writes whole or not at all, in bytes.
	sector = 512
	// page is a multiple of the sectors that disks have.
	page = 4096
	// roomStep is how much room is made at a time, in bytes.
	roomStep = 256 << 10
	// mostInRoom is how many bytes a vector has at most that is written into room: to write the
	// room of longer ones costs more than it saves.
	mostInRoom = 16 << 10
)

// start returns where a record begins that is to be at that byte or behind it: its head is in
// one sector, which is there as a whole or not.
func start(at int64) int64 {
	if left := sector - at%sector; left < recordHead {
		return at + left
	}
	return at
}

// blank is what the room of a life holds, again and again.
type blank [32]byte

// newBlank returns the blank of a life's salt. That a record has the same bytes is as likely as
// a collision of its hash.
func newBlank(salt []byte) *blank {
	b := blank(sha256.Sum256(append([]byte("proactivedp journal: room"), salt...)))
	return &b
}

// at returns the byte that room holds at that place of the file.
func (b *blank) at(place int64) byte { return b[place%int64(len(b))] }

// is reports whether all bytes from that place of the file on are room.
func (b *blank) is(text []byte, place int64) bool {
	for i, got := range text {
		if got != b.at(place+int64(i)) {
			return false
		}
	}
	return true
}

// fill returns what room holds between two places of the file.
func (b *blank) fill(from, to int64) []byte {
	text := make([]byte, to-from)
	for i := range text {
		text[i] = b.at(from + int64(i))
	}
	return text
}

// makeRoom makes room for so many bytes of records, and for many more, if they are short.
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

// unwritten returns errCutOff for a record that is not whole since a sector of it was not
// written. So its flush did not end; and if there is anything of a later one in what is left
// of the file, which ends at size, that is damage.
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
			return errors.New("a record was not written, and others are behind it")
		}
	}
	return errCutOff
}

// ungrown returns errCutOff where all that is left is zeros, or room that was being made.
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
			return errors.New("a record of no length")
		}
	}
}

// hasBlankSector reports whether one of the sectors that a record goes on in, behind the one
// that it begins in, is still room. The last one has bytes of what is read next.
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
