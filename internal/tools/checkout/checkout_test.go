package checkout

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	files, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Sorted(maps.Keys(files)), " ")
}

// Without git all files count but those of builds; with it, those it tracks.
func TestReadAndClean(t *testing.T) {
	dir := t.TempDir()
	all := Tree{"a.go": []byte("a"), ".ci/run": []byte("b"), "bin/program": []byte("c"), "out/figure": []byte("d"),
		"sub/out/e": []byte("e")}
	if err := all.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), ".ci/run a.go sub/out/e"; got != want {
		t.Errorf("files without git are %q, want %q", got, want)
	}
	if err := Clean(dir); err != nil {
		t.Errorf("without git: %v", err)
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "a.go"},
		{"-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "commit.gpgsign=false", "commit", "-qm", "a"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %s: %v\n%s", args[0], err, out)
		}
	}
	if got, want := names(t, dir), "a.go"; got != want {
		t.Errorf("files under git are %q, want %q", got, want)
	}
	if err := Clean(dir); err == nil || !strings.Contains(err.Error(), "bin/") {
		t.Errorf("error %v, want one that names bin/", err)
	}
	for _, name := range []string{"bin", "out", "sub", ".ci"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clean(dir); err != nil {
		t.Error(err)
	}
	if _, err := Git(dir, "no-such-command"); err == nil || !strings.Contains(err.Error(), "git no-such-command") {
		t.Errorf("error %v, want one that names the command", err)
	}
}
