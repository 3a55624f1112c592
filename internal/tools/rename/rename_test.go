package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/checkout"
)

// toy is a small repository of the module home.test/old.
var toy = tree{
	"go.mod": []byte("module home.test/old\n\ngo 1.26.0\n\nrequire (\n\texample.org/b v1.0.0\n)\n"),
	"tools/go.mod": []byte("module home.test/old/tools\n\ngo 1.26.0\n\nrequire (\n\thome.test/old " +
		"v0.0.0\n\tiota.test/z v1.0.0\n)\n\n" +
		"replace home.test/old => ../\n"),
	"sim/sim.go": []byte("// Package sim is home.test/old/sim, and not home.test/old/simple.\npackage " +
		"sim\n\nimport (\n" +
		"\t\"home.test/old/rng\"\n\t\"iota.test/z\"\n)\n\n// hashed stays, though it looks like a package.\nconst " +
		"hashed = \"home.test/old/rng\"\n\n" +
		"var _, _ = rng.New, z.Z\n"),
	"rng/rng.go":      []byte("package rng\n\nconst New, domain = 1, \"home.test/old/rng/stream/v1\"\n"),
	"rng/rng_test.go": []byte("package rng\n\nconst overlay = `package x\n\nimport \"home.test/old/rng\"\n`\n"),
	"cmd/old/main.go": []byte("package main\n"),
	"Makefile": []byte("a:\n\tgo build -ldflags \"-X home.test/old/rng.release=v1\" home.test/old/cmd/old && " +
		"./cmd/old/main home.test/old/...\n"),
	"README.md": []byte("`go get home.test/old@latest`, go get -u home.test/old; https://home.test/old/rng is a page " +
		"and other.home.test/old/rng a host;\n" +
		"require home.test/old v1.0.0\nhome.test/old is its name\n"),
	"picture.png": []byte("\x00home.test/old/rng"),
}

var toyRenamed = map[string]string{
	"go.mod": "module new.test/you/it\n\ngo 1.26.0\n\nrequire (\n\texample.org/b v1.0.0\n)\n",
	"tools/go.mod": "module new.test/you/it/tools\n\ngo 1.26.0\n\nrequire (\n\tiota.test/z v1.0.0\n\tnew.test/you/it " +
		"v0.0.0\n)\n\n" +
		"replace new.test/you/it => ../\n",
	"sim/sim.go": "// Package sim is new.test/you/it/sim, and not home.test/old/simple.\npackage sim\n\nimport (\n" +
		"\t\"iota.test/z\"\n\t\"new.test/you/it/rng\"\n)\n\n// hashed stays, though it looks like a package.\nconst " +
		"hashed = \"home.test/old/rng\"\n\n" +
		"var _, _ = rng.New, z.Z\n",
	"rng/rng.go":      "package rng\n\nconst New, domain = 1, \"home.test/old/rng/stream/v1\"\n",
	"rng/rng_test.go": "package rng\n\nconst overlay = `package x\n\nimport \"new.test/you/it/rng\"\n`\n",
	"cmd/old/main.go": "package main\n",
	"Makefile": "a:\n\tgo build -ldflags \"-X new.test/you/it/rng.release=v1\" new.test/you/it/cmd/old && " +
		"./cmd/old/main new.test/you/it/...\n",
	"README.md": "`go get new.test/you/it@latest`, go get -u new.test/you/it; https://home.test/old/rng is a page " +
		"and other.home.test/old/rng a host;\nrequire new.test/you/it v1.0.0\nhome.test/old is its name\n",
	"picture.png": "\x00home.test/old/rng",
}

// put writes a tree into a new folder.
func put(t *testing.T, files tree) string {
	t.Helper()
	dir := t.TempDir()
	if err := checkout.Tree(files).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// same checks that the folder holds these files, and no others.
func same(t *testing.T, dir string, want tree) {
	t.Helper()
	got, err := checkout.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name := range maps.Keys(got) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
	for name, content := range want {
		if string(got[name]) != string(content) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got[name], content)
		}
	}
}

func TestRenameChangesThePathAlone(t *testing.T) {
	dir := put(t, toy)
	if err := os.Chmod(filepath.Join(dir, "Makefile"), 0o755); err != nil {
		t.Fatal(err)
	}
	changed, err := rename(dir, "new.test/you/it")
	if err != nil {
		t.Fatal(err)
	}
	want := make(tree)
	for name, content := range toyRenamed {
		want[name] = []byte(content)
	}
	same(t, dir, want)
	if names := []string{"Makefile", "README.md", "go.mod", "rng/rng_test.go", "sim/sim.go",
		"tools/go.mod"}; !slices.Equal(changed, names) {
		t.Errorf("changed %q, want %q", changed, names)
	}
	if info, err := os.Stat(filepath.Join(dir, "Makefile")); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode %v, %v; want that of the old file", info.Mode(), err)
	}
	if _, err := rename(dir, "home.test/old"); err != nil {
		t.Fatal(err)
	}
	same(t, dir, toy)
}

func TestRenameRefuses(t *testing.T) {
	for _, c := range []struct{ name, to, want string }{
		{"no path", "", `MODULE = ""`},
		{"no dot", "you/it", `must be a module path`},
		{"a scheme", "https://new.test/you/it", `MODULE = "https://new.test/you/it"`},
		{"space", "new.test/y u", `MODULE = "new.test/y u"`},
		{"a major version", "new.test/you/it/v2", `must be without the suffix "/v2"`},
		{"its own", "home.test/old", "is the module's path already"},
		// Taken back, this would change what spoke of the other module before.
		{"one that the text speaks of", "other.test/it",
			"README.md: renaming from home.test/old to other.test/it and back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(toy)
			files["README.md"] = []byte("like other.test/it/rng\n")
			dir := put(t, files)
			if _, err := rename(dir, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			same(t, dir, files)
		})
	}
	if _, err := rename(t.TempDir(), "new.test/it"); err == nil {
		t.Error("a folder without a module is renamed")
	}
}

func TestRenameRefusesAChangedTree(t *testing.T) {
	dir := put(t, toy)
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("git init: %v\n%s", err, out)
	}
	if _, err := rename(dir, "new.test/it"); err == nil || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("error %v, want one that names what is not committed", err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || string(got) != string(toy["go.mod"]) {
		t.Errorf("go.mod is %q, %v", got, err)
	}
}

// A file that cannot be replaced leaves all as they were, before the first and
// after it.
func TestWriteIsWholeOrNotAtAll(t *testing.T) {
	old := tree{"a": []byte("a"), "b": []byte("b"), "c": []byte("c")}
	renamed := tree{"a": []byte("new"), "b": []byte("new"), "c": []byte("new")}
	dir := put(t, old)
	if err := write(dir, []string{"a", "missing"}, old, renamed); err == nil {
		t.Error("a file that is not there was replaced")
	}
	same(t, dir, old)

	var all []replacement
	for _, name := range []string{"a", "b", "c"} {
		file, err := stage(filepath.Join(dir, name), renamed[name])
		if err != nil {
			t.Fatal(err)
		}
		defer file.Discard()
		all = append(all, replacement{filepath.Join(dir, name), old[name], file})
	}
	all[1].file.Discard()
	if err := commit(all); err == nil {
		t.Error("a replacement that is gone was put in its place")
	}
	all[2].file.Discard()
	same(t, dir, old)
}
