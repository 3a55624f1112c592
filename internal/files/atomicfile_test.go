package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

func put(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// holds checks that the folder has just the one file, with this content.
func holds(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s holds %q, want %q", path, got, want)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("the folder has %v, want only %s", entries, filepath.Base(path))
	}
}

func TestWriteCreatesAndReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	long := strings.Repeat("0123456789", 50_000) // many buffers
	for _, text := range []string{"first", long, ""} {
		if err := Write(path, put(text)); err != nil {
			t.Fatal(err)
		}
		holds(t, path, text)
	}
}

// Write does not rename over a device or a link, because that would replace it with a file.
func TestWriteKeepsDevicesAndLinks(t *testing.T) {
	if err := Write(os.DevNull, put("gone")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v", os.DevNull, info, err)
	}
	if f, err := Create(os.DevNull); err == nil {
		f.Discard()
		t.Errorf("a replacement of %s was started", os.DevNull)
	}
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(t.TempDir(), "link")
	if err := Write(path, put("old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if err := Write(link, put("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}

func TestWriteGivesTheModeOfOsCreate(t *testing.T) {
	dir := t.TempDir()
	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	plain.Close()
	path := filepath.Join(dir, "atomic")
	if err := Write(path, put("x")); err != nil {
		t.Fatal(err)
	}
	want, _ := os.Stat(plain.Name())
	got, _ := os.Stat(path)
	if got.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v", got.Mode(), want.Mode())
	}
}

func TestWriteFollowsALinkToNothing(t *testing.T) {
	path, links := filepath.Join(t.TempDir(), "file"), t.TempDir()
	first, second := filepath.Join(links, "first"), filepath.Join(links, "second")
	if err := errors.Join(os.Symlink("second", first), os.Symlink(path, second)); err != nil {
		t.Skip(err)
	}
	if err := Write(first, put("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new")
	for _, link := range []string{first, second} {
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is %v, %v", info, err)
		}
	}
	loop := filepath.Join(links, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := Write(loop, put("new")); err == nil || !strings.Contains(err.Error(), "symbolic links") {
		t.Errorf("a link to itself: %v", err)
	}
}

func TestWriteKeepsTheModeOfTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	for _, mode := range []os.FileMode{0o600, 0o640, 0o666, 0o444} {
		if err := errors.Join(Write(path, put("old")), os.Chmod(path, mode), Write(path, put("new"))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode() != mode {
			t.Errorf("mode %v, want %v", info.Mode(), mode)
		}
		holds(t, path, "new")
	}
}

func TestWriteFailureKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := Write(path, put("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Write(path, func(w io.Writer) error {
		if err := put(strings.Repeat("new", 100_000))(w); err != nil {
			t.Error(err)
		}
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that wraps %q and names %s", err, broken, path)
	}
	holds(t, path, "old")
}

func TestWritePanicKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := Write(path, put("old")); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = Write(path, func(io.Writer) error { panic("writer") })
	}()
	holds(t, path, "old")
}

func TestWriteWithoutAFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("a file"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(dir, "no such folder", "x"),
		filepath.Join(file, "x"),
		dir + string(filepath.Separator),
		"",
		filepath.Join(dir) + "/..",
	} {
		called := false
		err := Write(path, func(io.Writer) error { called = true; return nil })
		if err == nil || called {
			t.Errorf("Write(%q): error %v, writer called %v; want an error before writing", path, err, called)
		}
	}
	holds(t, file, "a file")
}

func TestWriteOverAFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, put("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestFileShowsItselfBeforeCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if err := put("whole")(f); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || string(got) != "whole" {
		t.Errorf("temporary file holds %q, %v", got, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is in place before Commit")
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "whole")
}

// The folder is flushed once, after the file has its name, and not before. A failure of this flush is
// reported, and the file stays in its place. A file that is not flushed leaves the folder alone too.
func TestCommitSyncsTheFolderAfterTheRename(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := Write(path, put("old")); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no power")
	for i, fails := range []error{nil, failure, nil} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if i == 2 {
			f.flush, want = false, 0
		}
		synced := 0
		f.sync = func(dir string) error {
			synced++
			if dir != filepath.Dir(path) {
				t.Errorf("%s is flushed, want the folder of %s", dir, path)
			}
			holds(t, path, "new")
			if left := names(t, dir); !slices.Equal(left, []string{"file"}) {
				t.Errorf("flushed beside %v", left)
			}
			return errors.Join(fails, syncFolder(dir))
		}
		if _, err := io.WriteString(f, "new"); err != nil {
			t.Fatal(err)
		}
		if synced != 0 {
			t.Error("the folder is flushed before the file is in it")
		}
		if err := f.Commit(); !errors.Is(err, fails) || (err == nil) != (fails == nil) || synced != want {
			t.Errorf("%d times flushed, %v, want %d, %v", synced, err, want, fails)
		}
		holds(t, path, "new")
	}
	if err := syncFolder(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("a folder that cannot be read: %v", err)
	}
}

func TestFileEndsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	end := map[string]func(*File){
		"Commit": func(f *File) {
			if err := f.Commit(); err != nil {
				t.Error(err)
			}
		},
		"Discard": func(f *File) { f.Discard() },
	}
	for name, end := range end {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		end(f)
		f.Discard()
		if err := f.Commit(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Commit after %s: %v, want os.ErrClosed", name, err)
		}
		if _, err := f.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Write after %s: %v, want os.ErrClosed", name, err)
		}
	}
	holds(t, path, "")
}

// left makes the temporary file of a writer of path that was killed.
func left(t *testing.T, path string) {
	t.Helper()
	killed, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.temp.Close(); err != nil { // as when the process ends
		t.Fatal(err)
	}
}

// names returns what is in the folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Sweep removes the temporary files that a killed writer of this file left, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	left(t, path)
	others := []string{
		".x.notes.tmp",
		".x.tmp",
		".x.y." + strings.Repeat("A", 26) + ".tmp",
		".y." + strings.Repeat("A", 26) + ".tmp",
		"x",
		"y",
	}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := Sweep(path); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); !slices.Equal(got, others) {
			t.Errorf("the folder has %v, want %v", got, others)
		}
	}
	if err := Sweep(filepath.Join(dir, "none", "x")); err == nil {
		t.Error("a folder that is not there was swept")
	}
	if err := SweepFolder(dir); err != nil {
		t.Error(err)
	}
	if got, want := names(t, dir), []string{".x.notes.tmp", ".x.tmp", "x", "y"}; !slices.Equal(got, want) {
		t.Errorf("after a sweep of all the folder has %v, want %v", got, want)
	}
}

// While a writer lives, its temporary file is not removed, not even by another writer of the same file.
// The files of a killed writer are removed by the next writer.
func TestWritersDoNotSweepEachOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	left(t, path)
	first, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Discard()
	if err := errors.Join(put("first")(first), Sweep(path), SweepFolder(dir)); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, put("second")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("the folder has %v, want x and the first writer's temporary file", got)
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "first")
}

// Many writers of one file at once: each succeeds, and the file is whole.
func TestWritersAtTheSameTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	text := strings.Repeat("0123456789", 1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := Write(path, put(text)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	holds(t, path, text)
}

func TestCheckChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := Check(path); err != nil || len(names(t, dir)) != 0 {
		t.Errorf("%v, left behind: %v", err, names(t, dir))
	}
	if err := errors.Join(Write(path, put("old")), Check(path)); err != nil {
		t.Error(err)
	}
	holds(t, path, "old")
	for _, bad := range []string{dir, filepath.Join(dir, "none", "x"), filepath.Join(path, "x")} {
		if Check(bad) == nil {
			t.Errorf("%s could be written", bad)
		}
	}
	if err := Check(os.DevNull); err != nil {
		t.Error(err)
	}
}
