package files

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A process that is told so in the environment takes the lock, says so, and is
// killed with it.
func TestMain(m *testing.M) {
	if path := os.Getenv("LOCKFILE_TEST_HOLD"); path != "" {
		if _, err := LockFile(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		select {}
	}
	os.Exit(m.Run())
}

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockFile(path); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second time: %v", err)
	}
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	again, err := LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
	if _, err := LockFile(filepath.Join(path, "in a file that is not there")); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("no folder: %v", err)
	}
}

// The lock of a killed process is free, although its file still exists.
func TestLockEndsWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "LOCKFILE_TEST_HOLD="+path)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4)
	if _, err := out.Read(said); err != nil || string(said) != "held" {
		t.Fatalf("%q, %v", said, err)
	}
	if _, err := LockFile(path); !errors.Is(err, ErrHeld) {
		t.Errorf("while it lives: %v", err)
	} else if !strings.Contains(err.Error(), fmt.Sprint(other.Process.Pid)) {
		t.Logf("who holds it is not said here: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	l, err := LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// Many goroutines take and release a lock at the same time, and remove its file each time. Never do two of
// them have the lock at once.
func TestLockIsExclusiveThoughItsFileIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders, taken atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				l, err := LockFile(path)
				if errors.Is(err, ErrHeld) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				taken.Add(1)
				holders.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever had the lock")
	}
}

func TestRemoveUnheldLeavesWhatIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := TryLock(f); !held || err != nil {
		t.Skipf("no locks here: %v", err)
	}
	if err := RemoveUnheld(path); err != nil || !IsAt(f, path) {
		t.Errorf("a file that is held was removed, or %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := RemoveUnheld(path); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file that nobody holds is there: %v", err)
		}
	}
}

func TestFolderIsMadeAndHeld(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	fault := errors.New("planted fault")
	err := InFolder(dir, func() error {
		if _, err := LockFolder(dir); !errors.Is(err, ErrHeld) ||
			!strings.Contains(err.Error(), dir+": in use by another process") {
			t.Errorf("a second time: %v", err)
		}
		return fault
	})
	if !errors.Is(err, fault) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder that was made for the lock is left: %v", err)
	}
	result := filepath.Join(dir, "result")
	if err := InFolder(dir, func() error { return os.WriteFile(result, nil, 0o666) }); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want the result alone", entries, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := InFolder(filepath.Join(file, "below"), func() error { t.Error("called"); return nil }); err == nil {
		t.Error("a folder below a file was made")
	}
}
