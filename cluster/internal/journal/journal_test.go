package journal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/cluster/internal/journal"
	"proactivedp/internal/files"
	"proactivedp/rng"
)

var (
	run = []byte(`{"run":"a"}`)
	key = bytes.Repeat([]byte{7}, journal.MinKey)
)

func open(t *testing.T, dir string, key []byte) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// vector is the release of a round, of n numbers.
func vector(round, n int) []float32 {
	u := make([]float32, n)
	s := rng.New(1).Stream(rng.Noise, 0, round)
	for i := range u {
		u[i] = float32(s.Normal())
	}
	return u
}

// release appends rounds up to end, at a lag of 1 after the first.
func release(t *testing.T, j *journal.Journal, n, end int) {
	t.Helper()
	for i := j.Next(); i < end; i++ {
		r := journal.Release{Round: i, Newest: max(0, i-1), Size: 10 + i/4}
		if _, err := j.Append(journal.Entry{Release: r, U: vector(i, n)}); err != nil {
			t.Fatal(err)
		}
	}
}

// checkReleases checks that the rounds [from, end) are there, bit by bit, and counted.
func checkReleases(t *testing.T, j *journal.Journal, n, from, end int) {
	t.Helper()
	all := j.Releases()
	if len(all) != end-from || j.Next() != end {
		t.Fatalf("%d releases up to round %d, want %d up to %d", len(all), j.Next(), end-from, end)
	}
	u := make([]float32, n)
	for i, r := range all {
		if err := j.Read(r, u); err != nil {
			t.Fatal(err)
		}
		if r.Round != from+i || r.Newest != max(0, r.Round-1) || !slices.Equal(u, vector(r.Round, n)) {
			t.Errorf("release %d is %+v, or has another vector", i, r)
		}
	}
	rounds, last := 0, 0
	for _, s := range j.Sizes() {
		rounds, last = rounds+s.Rounds, s.Size
	}
	if rounds != end || end > 0 && last != 10+(end-1)/4 {
		t.Errorf("sizes %v of %d rounds", j.Sizes(), end)
	}
	if lags := j.Lags(); end > 1 && !slices.Equal(lags, []int{1, end - 1}) {
		t.Errorf("lags %v of %d rounds", lags, end)
	}
}

// Releases are the same after the journal is opened again, with and without a key, before and after the
// file is rewritten.
func TestReleasesSurvive(t *testing.T) {
	for _, key := range [][]byte{nil, key} {
		const n, end = 60_000, 40 // 240 kB each: more than rewriteFrom in all
		dir := t.TempDir()
		j := open(t, dir, key)
		name, draws := j.Root().Name(), map[uint64]bool{}
		draw := func() {
			t.Helper()
			u := j.Root().Stream(rng.Noise, 1, 0).Uint64()
			if draws[u] {
				t.Error("two openings have one noise")
			}
			draws[u] = true
		}
		draw()
		if err := j.Pin(run, 1, n); err != nil {
			t.Fatal(err)
		}
		release(t, j, n, 10)
		for life := 1; ; life++ {
			if j.Lives() != life {
				t.Errorf("life %d counts %d", life, j.Lives())
			}
			checkReleases(t, j, n, 0, 10)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j = open(t, dir, key)
			if draw(); life == 3 {
				break
			}
		}
		if err := j.Pin(run, 1, n); err != nil {
			t.Fatal(err)
		}
		release(t, j, n, end)
		root := j.Root()
		if err := j.Cover(end - 3); err != nil {
			t.Fatal(err)
		}
		if j.Root() != root {
			t.Error("an opening changes its root when the file is written anew")
		}
		checkReleases(t, j, n, end-3, end)
		release(t, j, n, end+1)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, "journal"))
		if err != nil || info.Size() > 5*4*n || info.Mode().Perm() != 0o600 {
			t.Errorf("the file of 4 releases is %v, %v", info, err)
		}
		j = open(t, dir, key)
		checkReleases(t, j, n, end-3, end+1)
		pinned, client := j.Pinned()
		draw()
		if j.Root().Name() != name || name.Simulated() || !bytes.Equal(pinned, run) {
			t.Error("another name, or another run")
		}
		if err := j.Pin([]byte("b"), 1, n); err == nil {
			t.Error("pinned to two runs")
		}
		if client != 1 {
			t.Errorf("pinned to client %d", client)
		}
		if err := j.Pin(run, 2, n); err == nil || !strings.Contains(err.Error(), "belongs to client 1, not to client 2") {
			t.Errorf("pinned to two clients: %v", err)
		}
		if _, err := j.Append(journal.Entry{Release: journal.Release{Round: end}, U: vector(end, n)}); err == nil {
			t.Error("a round was released twice")
		}
	}
}

// A copy of a journal may be opened again and again, as if it were restored from a backup each time. Each
// opening has fresh noise, and the opening is on disk before anybody can draw this noise.
func TestAnOlderCopyHasFreshNoise(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	name, draws := j.Root().Name(), map[uint64]bool{j.Root().Stream(rng.Noise, 0, 0).Uint64(): true}
	for restored := range 4 {
		text := content(t, dir) // of a journal that is open
		again, err := reopen(t, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.Lives() != j.Lives()+1 {
			t.Errorf("the copy of life %d opens life %d", j.Lives(), again.Lives())
		}
		if draws[again.Root().Stream(rng.Noise, 0, 0).Uint64()] || again.Root().Name() != name {
			t.Errorf("restored %d times: the noise of before, or the name %s and not %s", restored+1,
				again.Root().Name(), name)
		}
		draws[again.Root().Stream(rng.Noise, 0, 0).Uint64()] = true
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j, err := reopen(t, []byte{}, nil); err != nil || j.Root().Name() == name {
		t.Errorf("a new journal has the name of another: %v", err)
	}
}

// written returns the bytes of a journal with rounds of n numbers and a little of its room, and
// where its last release begins.
func written(t *testing.T, key []byte, n, rounds int) (whole []byte, before int) {
	t.Helper()
	dir := t.TempDir()
	j := open(t, dir, key)
	if err := j.Pin(run, 1, n); err != nil {
		t.Fatal(err)
	}
	release(t, j, n, rounds-1)
	before = recordsEnd(content(t, dir))
	release(t, j, n, rounds)
	whole = content(t, dir)
	return whole[:min(len(whole), recordsEnd(whole)+600)], before
}

// content returns the bytes of the journal in a folder.
func content(t *testing.T, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// recordsEnd returns where the records of a journal end and its room begins: where no head has the
// sum of its own bytes. (What lies in room may be like the bytes in front of it.)
func recordsEnd(text []byte) int {
	const head = 24 // in one sector: length, kind, place in its flush, and two sums
	at := bytes.IndexByte(text, '\n') + 1
	for end := at; ; end = at {
		if left := sector - at%sector; left < head {
			at += left
		}
		if at+head > len(text) || binary.LittleEndian.Uint32(text[at+16:]) !=
			crc32.Checksum(text[at:at+16], crc32.MakeTable(crc32.Castagnoli)) {
			return end
		}
		at += head + int(binary.LittleEndian.Uint64(text[at:]))
	}
}

// reopen opens a journal of these bytes.
func reopen(t *testing.T, text, key []byte) (*journal.Journal, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "journal"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(dir, key)
	if err == nil {
		t.Cleanup(func() { j.Close() })
	}
	return j, err
}

// A machine that stops while it writes a release leaves a part of it, or zeros in its place if the file
// had room for it. That round was not sent, so it is released again with fresh noise. All earlier releases
// are there.
func TestACutOffReleaseWasNotMade(t *testing.T) {
	for _, key := range [][]byte{nil, key} {
		whole, before := written(t, key, 5, 3)
		for end := before; end < recordsEnd(whole); end++ {
			zeros := append(slices.Clone(whole[:before]), make([]byte, end-before)...)
			for _, text := range [][]byte{whole[:end], zeros} {
				j, err := reopen(t, text, key)
				if err != nil {
					t.Fatalf("cut off at %d of %d, before %d: %v", end, len(whole), before, err)
				}
				checkReleases(t, j, 5, 0, 2)
				release(t, j, 5, 3)
				checkReleases(t, j, 5, 0, 3)
			}
		}
	}
}

// Several releases that are written by one flush are read as they were. If one of them does not fit, all
// are refused. If the machine stops during the flush, the first ones may be there.
func TestSeveralReleasesByOneFlush(t *testing.T) {
	for _, key := range [][]byte{nil, key} {
		const n = 5
		whole, _ := written(t, key, n, 2)
		j, err := reopen(t, whole, key)
		if err != nil {
			t.Fatal(err)
		}
		entry := func(round int) journal.Entry {
			return journal.Entry{Release: journal.Release{Round: round, Newest: round - 1, Size: 10 + round/4},
				U: vector(round, n)}
		}
		if _, err := j.Append(entry(2), entry(4)); err == nil {
			t.Error("a round is left out")
		}
		if _, err := j.Append(entry(2), journal.Entry{Release: entry(3).Release, U: vector(3, n+1)}); err == nil {
			t.Error("a longer vector is taken")
		}
		checkReleases(t, j, n, 0, 2)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "journal"), whole, 0o600); err != nil {
			t.Fatal(err)
		}
		j = open(t, dir, key)
		begin := len(content(t, dir)) // there is no room yet
		releases, err := j.Append(entry(2), entry(3), entry(4))
		if err != nil || len(releases) != 3 || releases[2].Round != 4 || releases[2].Digest == 0 {
			t.Fatal(releases, err)
		}
		checkReleases(t, j, n, 0, 5)
		release(t, j, n, 6)
		checkReleases(t, j, n, 0, 6)
		after, last := content(t, dir), 2
		after = after[:recordsEnd(after)]
		for end := begin; end <= len(after); end += 7 {
			j, err := reopen(t, after[:end], key)
			if err != nil {
				t.Fatalf("cut off at %d of %d: %v", end, len(after), err)
			}
			if j.Next() < last || end == begin && j.Next() != 2 {
				t.Errorf("cut off at %d of %d: %d rounds, less far on %d", end, len(after), j.Next(), last)
			}
			last = j.Next()
			checkReleases(t, j, n, 0, last)
		}
		if last < 5 {
			t.Errorf("%d rounds where only the end is cut off", last)
		}
	}
}

// No flipped bit silently loses a release: either the journal cannot be opened, or all releases are as
// they were. The bit may be in a record, between two records, or in the room after them.
func TestAFlippedBitIsNoReasonToReleaseAgain(t *testing.T) {
	whole, _ := written(t, nil, 3, 3)
	for i := 0; i < 8*len(whole); i += 9 { // one bit of every byte but some, all eight in turn
		text := slices.Clone(whole)
		text[i/8] ^= 1 << (i % 8)
		j, err := reopen(t, text, nil)
		switch {
		case errors.Is(err, journal.ErrDamaged):
		case err != nil && i/8 < len("proactivedp journal 4\n") && strings.Contains(err.Error(), "another version"):
		case err != nil:
			t.Fatalf("bit %d: %v", i, err)
		case j.Next() < 3:
			t.Fatalf("bit %d of %d: only %d rounds are left", i, 8*len(whole), j.Next())
		}
	}
}

func TestKeysAreAsked(t *testing.T) {
	plain, _ := written(t, nil, 3, 2)
	sealed, _ := written(t, key, 3, 2)
	other := bytes.Repeat([]byte{8}, journal.MinKey)
	for _, c := range []struct{ text, key []byte }{{plain, key}, {sealed, nil}, {sealed, other}} {
		if _, err := reopen(t, c.text, c.key); !errors.Is(err, journal.ErrKey) {
			t.Errorf("opened with another key: %v", err)
		}
	}
	if _, err := journal.Open(t.TempDir(), key[1:]); err == nil {
		t.Error("a short key is taken")
	}
	if !bytes.Contains(plain, run) || bytes.Contains(sealed, run) {
		t.Error("a plain journal does not show the run, or a sealed one does")
	}
}

func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, nil)
	if _, err := journal.Open(dir, nil); !errors.Is(err, files.ErrHeld) {
		t.Errorf("opened twice: %v", err)
	}
	j.Close()
	open(t, dir, nil)
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("proactivedp journal 4\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := reopen(t, text, nil)
		if err != nil {
			return
		}
		u := make([]float32, 1)
		for _, r := range j.Releases() {
			_ = j.Read(r, u)
		}
		if j.Next() < len(j.Releases()) {
			t.Error("fewer rounds than releases")
		}
	})
}

// A journal that replaces another one begins at a later round, also after it is opened again and after the
// file is rewritten. It only counts its own rounds.
func TestAJournalBeginsBehindTheOneItReplaces(t *testing.T) {
	const n, first = 60_000, 7
	dir := t.TempDir()
	j := open(t, dir, key)
	if err := j.Begin(first); err == nil {
		t.Error("it begins before it is pinned")
	}
	if err := j.Pin(run, 1, n); err != nil {
		t.Fatal(err)
	}
	if err := j.Begin(first); err != nil {
		t.Fatal(err)
	}
	if err := j.Begin(first + 1); err == nil {
		t.Error("it begins twice")
	}
	add := func(end int) {
		t.Helper()
		for i := j.Next(); i < end; i++ {
			e := journal.Entry{Release: journal.Release{Round: i, Newest: i - 1, Size: 10}, U: vector(i, n)}
			if _, err := j.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(oldest, next int) {
		t.Helper()
		r, ok := j.Release(next - 1)
		u := make([]float32, n)
		if !ok || j.Read(r, u) != nil || !slices.Equal(u, vector(next-1, n)) {
			t.Errorf("release %d is %+v, %v", next-1, r, ok)
		}
		sizes, lags := []journal.Stretch{{Size: 10, Rounds: next - first}}, []int{0, next - first}
		if j.First() != first || j.Oldest() != oldest || j.Next() != next || !slices.Equal(j.Sizes(), sizes) ||
			!slices.Equal(j.Lags(), lags) {
			t.Errorf("from round %d, %d to %d, sizes %v, lags %v", j.First(), j.Oldest(), j.Next(), j.Sizes(), j.Lags())
		}
	}
	add(first + 3)
	check(first, first+3)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, key)
	check(first, first+3)
	add(first + 40)
	if err := j.Cover(first + 38); err != nil { // 240 kB each: more than rewriteFrom in all
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, key)
	check(first+38, first+40)
}
