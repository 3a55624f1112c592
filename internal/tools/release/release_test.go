package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"proactivedp/internal/tools/checkout"
)

func TestCheckVersion(t *testing.T) {
	for _, version := range []string{"v0.1.0", "v1.2.3", "v1.3.0-rc.1"} {
		if err := checkVersion(version); err != nil {
			t.Error(err)
		}
	}
	for version, want := range map[string]string{
		"":           "must be a semantic version",
		"1.2.3":      "must be a semantic version",
		"v1.2":       "must be a semantic version",
		"v1.2.3+me":  "must be a semantic version",
		"v01.2.3":    "must be a semantic version",
		"v1.2.3; rm": "must be a semantic version",
		"v2.0.0":     "no suffix /v2",
	} {
		if err := checkVersion(version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", version, err, want)
		}
	}
}

func TestFileNames(t *testing.T) {
	if got, want := (target{"linux", "arm64"}).file("v1.2.3"), "proactivedp-v1.2.3-linux-arm64"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
	if got, want := (target{"windows", "amd64"}).file("v1.2.3"), "proactivedp-v1.2.3-windows-amd64.exe"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
}

// TestBuildsAreReproducible builds the program for this machine in two folders.
// What the release itself does on top of that is to use two caches, which takes
// minutes.
func TestBuildsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	source, err := checkout.Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		if err := source.Write(filepath.Join(dir, "source")); err != nil {
			t.Fatal(err)
		}
	}
	page, err := pageTwice("v1.2.3", filepath.Join(dirs[0], "source"), filepath.Join(dirs[1], "source"))
	if err != nil || !bytes.Contains(page, []byte("proactivedp v1.2.3")) {
		t.Fatalf("the page of the planner: %v", err)
	}
	var programs [2][]byte
	var file string
	for i, dir := range dirs {
		file = filepath.Join(dir, here.file("v1.2.3"))
		if err := here.build("page", "v1.2.3", filepath.Join(dir, "source"), file); err != nil {
			t.Fatal(err)
		}
		if programs[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(programs[i], []byte(filepath.ToSlash(dir))) {
			t.Errorf("the program names the folder %s that it was built in", dir)
		}
	}
	if !bytes.Equal(programs[0], programs[1]) {
		t.Error("two builds of the same source differ")
	}
	if written := filepath.Join(dirs[0], pageName); exec.Command(file, "page", "--out", written).Run() != nil {
		t.Error("the program does not write the page")
	} else if text, err := os.ReadFile(written); err != nil || !bytes.Equal(text, page) {
		t.Errorf("the program writes another page: %v", err)
	}
	out, err := exec.Command(file, "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var build struct{ Version string }
	if err := json.Unmarshal(out, &build); err != nil || build.Version != "v1.2.3" {
		t.Errorf("the program says version %q, %v; want v1.2.3", build.Version, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	f, err := elf.NewFile(bytes.NewReader(programs[0]))
	if err != nil {
		t.Fatal(err)
	}
	if f.Section(".interp") != nil {
		t.Error("the program is not static")
	}
}

// The commands of CONTRIBUTING.md give the module another path: then every import is found, also
// those of the examples, and the strings that random streams depend on are as they were.
func TestModuleCanBeGivenAnotherPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the commands are for GNU sed")
	}
	source, err := checkout.Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(source["CONTRIBUTING.md"]), "```sh\ngit ls-files")
	commands, _, found := strings.Cut(commands, "```\n")
	if !found {
		t.Fatal("CONTRIBUTING.md does not say how to rename the module")
	}
	dir := t.TempDir()
	if err := source.Write(dir); err != nil {
		t.Fatal(err)
	}
	run := func(dir, name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v: %s", name, args[0], err, out)
		}
	}
	run(dir, "git", "init", "--quiet")
	run(dir, "git", "add", "--all", "--force")
	run(dir, "sh", "-c", "set -e\ngit ls-files"+commands)
	// Both modules can be read, and each import of the module is of a folder that it has.
	run(dir, "go", "list", "-mod=readonly", "-deps", "./rng")
	run(filepath.Join(dir, "examples"), "go", "list", "-mod=readonly", "example.org/you/proactivedp/rng")
	own := 0
	for name := range source {
		if path.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			of := strings.Trim(i.Path.Value, `"`)
			folder, is := strings.CutPrefix(of, "example.org/you/proactivedp/")
			if _, err := os.Stat(filepath.Join(dir, folder)); is && err != nil || of == "proactivedp" || strings.HasPrefix(of, "proactivedp/") {
				t.Errorf("%s imports %s, which is not there", name, of)
			}
			if is {
				own++
			}
		}
	}
	if own < 2000 {
		t.Errorf("%d imports of the module, must be at least 2,000", own)
	}
	for file, want := range map[string]string{
		"rng/rng.go":      `hashed("proactivedp/rng/stream/v1"`, // which is no import
		"dp/mechanism.go": `"example.org/you/proactivedp/rng"`,
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s lacks %s: %v", file, want, err)
		}
	}
}

// A release that is refused or fails leaves nothing.
func TestRunIsWholeOrNotAtAll(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	broken := checkout.Tree{"go.mod": []byte("module m\n\ngo 1.26.0\n"),
		"cmd/proactivedp/main.go": []byte("package main\n\nfunc main() { x }\n")}
	if err := broken.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, out, "v1.2.3", io.Discard); err == nil || !strings.Contains(err.Error(), "go build of the planner") {
		t.Errorf("error %v, want that of the compiler", err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if err := os.Mkdir(filepath.Join(out, "v1.2.3"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, out, "v1.2.3", io.Discard); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("error %v, want one that says that the release is there", err)
	}
}

// What go env -w has written decides no byte of a program.
func TestBuildLeavesOutTheUsersSettings(t *testing.T) {
	dir := t.TempDir()
	program := checkout.Tree{
		"go.mod":                   []byte("module m\n\ngo 1.26.0\n"),
		"cmd/proactivedp/main.go":  []byte("package main\n\nfunc main() { print(word) }\n"),
		"cmd/proactivedp/own.go":   []byte("//go:build !users\n\npackage main\n\nconst word = \"own\"\n"),
		"cmd/proactivedp/users.go": []byte("//go:build users\n\npackage main\n\nconst word = \"users\"\n"),
	}
	if err := program.Write(dir); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(settings, []byte("GOFLAGS=-tags=users\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", settings)
	file := filepath.Join(dir, "program")
	if err := (target{runtime.GOOS, runtime.GOARCH}).build("page", "v1.2.3", dir, file); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(file).CombinedOutput(); err != nil || string(out) != "own" {
		t.Errorf("the program says %q (%v), want that of no tag", out, err)
	}
}

// The second build is of another source here, so that the programs differ.
func TestBuildTwiceComparesTheBytes(t *testing.T) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := strings.TrimSpace(string(out))
	dir := t.TempDir()
	var sources [2]string
	for i, word := range []string{"one", "two"} {
		sources[i] = filepath.Join(dir, word)
		program := checkout.Tree{
			"go.mod":                  []byte("module m\n\ngo 1.26.0\n"),
			"cmd/proactivedp/main.go": []byte("package main\n\nfunc main() { println(\"" + word + "\") }\n"),
		}
		if err := program.Write(sources[i]); err != nil {
			t.Fatal(err)
		}
	}
	here := target{runtime.GOOS, runtime.GOARCH}
	file := filepath.Join(dir, "program")
	if _, err := buildTwice(here, "v1.2.3", sources[0], sources[0], file, cache); err != nil {
		t.Error(err)
	}
	if _, err := buildTwice(here, "v1.2.3", sources[0], sources[1], file, cache); err == nil ||
		!strings.Contains(err.Error(), "differ") {
		t.Errorf("error %v, want one that says that the builds differ", err)
	}
}
