package journal_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"proactivedp/cluster/internal/journal"
)

const sector = 512

// flushes returns the bytes of a journal with room, of vectors of n numbers: before and after
// its last flush, which is of three releases behind six, and where that begins and ends.
func flushes(t *testing.T, key []byte, n int) (before, after []byte, begin, end int) {
	t.Helper()
	dir := t.TempDir()
	j := open(t, dir, key)
	if err := j.Pin(run, 1, n); err != nil {
		t.Fatal(err)
	}
	release(t, j, n, 6)
	before = content(t, dir)
	var last []journal.Entry
	for i := 6; i < 9; i++ {
		r := journal.Release{Round: i, Newest: i - 1, Size: 10 + i/4}
		last = append(last, journal.Entry{Release: r, U: vector(i, n)})
	}
	if _, err := j.Append(last...); err != nil {
		t.Fatal(err)
	}
	after = content(t, dir)
	if len(before) != len(after) || len(after) < 1<<18 {
		t.Fatalf("the file grew from %d bytes to %d, must have room from the beginning", len(before), len(after))
	}
	begin, end = recordsEnd(before), recordsEnd(after)
	keep := (end/sector + 3) * sector // of the room a little is enough
	return before[:keep], after[:keep], begin, end
}

// A machine that stops during a flush may have written any of the sectors of the flush. All releases
// before the first missing sector are there, the rounds after it are released again, and nothing else is
// lost. The test tries each sector as the only missing one, each as the only written one, and 20 random
// choices, with releases shorter and longer than a sector.
func TestAnySectorsOfAFlushMayBeMissing(t *testing.T) {
	for _, c := range []struct {
		n   int
		key []byte
	}{{5, nil}, {68, key}, {400, nil}} {
		before, after, begin, end := flushes(t, c.key, c.n)
		first, count := begin/sector, (end-1)/sector-begin/sector+1
		draws := rand.New(rand.NewPCG(1, uint64(c.n)))
		for choice := range 2*count + 20 {
			there := func(int) bool { return draws.IntN(2) == 0 }
			switch {
			case choice < count:
				there = func(i int) bool { return i != choice }
			case choice < 2*count:
				there = func(i int) bool { return i == choice-count }
			}
			text, missing := slices.Clone(before), end
			for i := range count {
				at := (first + i) * sector
				if there(i) {
					copy(text[at:at+sector], after[at:])
				} else {
					missing = min(missing, max(at, begin))
				}
			}
			checkTorn(t, text, c.key, c.n, begin, end, missing)
		}
	}
}

// checkTorn checks a journal of six releases and of a flush of three more from begin to end, of
// which a sector from that byte on is missing.
func checkTorn(t *testing.T, text, key []byte, n, begin, end, missing int) {
	t.Helper()
	j, err := reopen(t, text, key)
	if err != nil {
		t.Fatalf("n = %d, byte %d of [%d, %d) is missing: %v", n, missing, begin, end, err)
	}
	defer j.Close()
	got := j.Next()
	each := (end - begin) / 3 // about, and never more than 24 bytes less
	if least := 6 + (missing-begin)/(each+24); got < least || got > 9 || (got == 9) != (missing == end) {
		t.Errorf("n = %d, byte %d of [%d, %d) is missing: %d rounds, must be at least %d", n, missing, begin, end, got,
			least)
	}
	checkReleases(t, j, n, 0, got)
	release(t, j, n, 10)
	checkReleases(t, j, n, 0, 10)
}

// If a later flush shows that a missing sector was once on disk, the file is damaged, and the journal is
// refused, because these rounds were sent.
func TestAMissingSectorBeforeALaterFlushIsDamage(t *testing.T) {
	for _, key := range [][]byte{nil, key} {
		_, after, begin, _ := flushes(t, key, 400)
		room := after[len(after)-sector:]
		for at := 2 * sector; at+sector <= begin; at += sector {
			text := slices.Clone(after)
			copy(text[at:], room)
			if _, err := reopen(t, text, key); !errors.Is(err, journal.ErrDamaged) {
				t.Errorf("the sector at byte %d of %d is away: %v, must be %v", at, begin, err, journal.ErrDamaged)
			}
		}
	}
}

// If the machine stops while room is being made in the file, a part of this room may be zeros.
func TestRoomMayBeHalfMade(t *testing.T) {
	before, _, begin, _ := flushes(t, nil, 68)
	for zero := begin / sector * sector; zero+sector <= len(before); zero += sector {
		text := slices.Clone(before)
		clear(text[max(zero, begin) : zero+sector])
		j, err := reopen(t, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkReleases(t, j, 68, 0, 6)
	}
	text := slices.Clone(before)
	clear(text[begin:])
	last := len(text) - 1
	text[last] = before[last]%255 + 1 // neither zero nor what room has there
	if _, err := reopen(t, text, nil); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("zeros with something behind: %v, must be %v", err, journal.ErrDamaged)
	}
}

// No room is made for long vectors. A journal of another version is refused, and the error says so.
func TestRoomIsForShortReleases(t *testing.T) {
	dir := t.TempDir()
	const n = 5000
	j := open(t, dir, nil)
	if err := j.Pin(run, 1, n); err != nil {
		t.Fatal(err)
	}
	release(t, j, n, 2)
	if got := len(content(t, dir)); got > 2*4*n+1000 {
		t.Errorf("two releases of %d bytes take %d", 4*n, got)
	}
	text := content(t, dir)
	text[len("proactivedp journal ")] = '1'
	_, err := reopen(t, text, nil)
	if err == nil || errors.Is(err, journal.ErrDamaged) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("version 1: %v, must be refused, and not as damaged", err)
	}
}
