package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"proactivedp/internal/checkout"
	"proactivedp/rng"
)

const (
	outsidePath    = "example.org/you/proactivedp"
	outsideVersion = "v1.2.3"
)

// outsideProgram uses the library as a module that requires it does.
const outsideProgram = `package main

import (
	"fmt"

	"` + outsidePath + `/dp"
	"` + outsidePath + `/rng"
)

func main() {
	stream := rng.New(7).Stream(rng.Noise, 1, 2)
	fmt.Println(stream.Uint64(), dp.Poisson)
}
`

// TestRenamedModuleServesOthers renames a copy of the repository to a path that
// others can require, and serves it to them by a proxy of files: a module of
// their own, and the installation of the command at a version. The renamed
// library draws the same numbers. Renamed back, the copy is the same tree.
func TestRenamedModuleServesOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the repository anew")
	}
	self := strings.TrimSuffix(reflect.TypeFor[renamer]().PkgPath(), "/internal/tools/rename")
	if self == outsidePath {
		t.Skip("the module has this path already")
	}
	source, err := checkout.Read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := put(t, tree(source))
	if _, err := rename(dir, outsidePath); err != nil {
		t.Fatal(err)
	}

	o := newOutsider(t, dir)
	o.run(dir, "go", "list", "-mod=readonly", "-deps", "-test", "./...") // checks that every import is found
	// The generator imports nothing of the library; what it does import is not there
	// where only the library was ever built.
	o.run(filepath.Join(dir, "internal", "_gen"), "go", "list", "-mod=readonly", "-find", ".")
	o.run(filepath.Join(dir, "examples"), "go", "list", "-mod=readonly", "-deps", "-test", "./...")

	user := put(t, tree{
		"go.mod": []byte("module example.org/them/uses\n\ngo 1.26.0\n\nrequire " + outsidePath + " " + outsideVersion +
			"\n"),
		"main.go": []byte(outsideProgram),
	})
	// All packages are built here and not in the copy, too: there they would have
	// other places, and be compiled once more.
	o.run(user, "go", "build", outsidePath+"/...")
	stream := rng.New(7).Stream(rng.Noise, 1, 2)
	if got, want := o.run(user, "go", "run", "."), fmt.Sprintf("%d poisson\n", stream.Uint64()); got != want {
		t.Errorf("the outside module prints %q, want %q", got, want)
	}

	o.run(t.TempDir(), "go", "install", outsidePath+"/cmd/proactivedp@"+outsideVersion)
	program := filepath.Join(o.bin, "proactivedp")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	var build struct{ Version string }
	if err := json.Unmarshal([]byte(o.run(t.TempDir(), program, "version", "--json")), &build); err != nil ||
		build.Version != outsideVersion {
		t.Errorf("the installed program says version %q, %v; want %q", build.Version, err, outsideVersion)
	}

	if _, err := rename(dir, self); err != nil {
		t.Fatal(err)
	}
	same(t, dir, tree(source))
}

// outsider runs commands of people who have the module from a proxy alone.
type outsider struct {
	t   *testing.T
	bin string // the folder of installed commands
	env []string
}

// newOutsider serves the module in dir. Its modules go to a cache of their own,
// so that what is served here is never met again; what the module itself
// requires comes from the downloads that built this test. No network is used.
func newOutsider(t *testing.T, dir string) *outsider {
	t.Helper()
	served, cache, bin := t.TempDir(), t.TempDir(), t.TempDir()
	versions := filepath.Join(served, filepath.FromSlash(outsidePath), "@v")
	if err := os.MkdirAll(versions, 0o777); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.CreateFromDir(&archive, module.Version{Path: outsidePath, Version: outsideVersion}, dir); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"list":                   []byte(outsideVersion + "\n"),
		outsideVersion + ".info": fmt.Appendf(nil, `{"Version":%q}`, outsideVersion),
		outsideVersion + ".mod":  mod,
		outsideVersion + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	downloads := path.Join(filepath.ToSlash(strings.TrimSpace(string(out))), "cache/download")
	return &outsider{t: t, bin: bin, env: append(os.Environ(),
		"GOPROXY=file://"+filepath.ToSlash(served)+",file://"+downloads,
		"GOSUMDB=off", "GONOSUMDB=", "GOPRIVATE=", "GONOPROXY=", "GOWORK=off",
		"CGO_ENABLED=0",
		// -trimpath: what is compiled in one folder serves all others.
		"GOFLAGS=-mod=mod -modcacherw -trimpath",
		"GOMODCACHE="+cache, "GOBIN="+bin)}
}

// run returns what a command prints.
func (o *outsider) run(dir, name string, args ...string) string {
	o.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, o.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return string(out)
}
