package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"proactivedp/internal/tools/checkout"
	"proactivedp/web"
)

// target is a platform for which a program is built.
type target struct{ os, arch string }

var targets = []target{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// licences are the licence files that are shipped with the programs: the project's own, and those of
// its dependencies.
var licences = []string{"LICENSE", "THIRD_PARTY_LICENSES"}

// file returns the name of the target's program.
func (t target) file(version string) string {
	name := fmt.Sprintf("proactivedp-%s-%s-%s", version, t.os, t.arch)
	if t.os == "windows" {
		name += ".exe"
	}
	return name
}

// run creates the folder out/version with the programs of all targets, built from the module in dir,
// and their digests. It creates all or nothing.
func run(dir, out, version string, log io.Writer) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	if err := checkout.Clean(dir); err != nil {
		return err
	}
	final := filepath.Join(out, version)
	if _, err := os.Stat(final); err == nil {
		return fmt.Errorf("%s already exists, and a release is not made twice", final)
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	made, err := os.MkdirTemp(out, "."+version+".tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	other, err := os.MkdirTemp("", "proactivedp-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(other)
	source := filepath.Join(other, "source")
	if err := copyTo(dir, source); err != nil {
		return err
	}
	page, err := pageTwice(version, dir, source)
	if err != nil {
		return fmt.Errorf("%s: %w", pageName, err)
	}
	var sums bytes.Buffer
	for _, t := range targets {
		name := t.file(version)
		program, err := buildTwice(t, version, dir, source, filepath.Join(made, name), filepath.Join(other, "cache"))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(program), name)
		fmt.Fprintf(log, "%s: %d bytes, the same twice\n", name, len(program))
	}
	if err := os.WriteFile(filepath.Join(made, pageName), page, 0o666); err != nil {
		return err
	}
	fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(page), pageName)
	fmt.Fprintf(log, "%s: %d bytes, the same twice\n", pageName, len(page))
	for _, name := range licences {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(made, name), text, 0o666); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
	}
	if err := os.WriteFile(filepath.Join(made, "SHA256SUMS"), sums.Bytes(), 0o666); err != nil {
		return err
	}
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	if err := os.Rename(made, final); err != nil {
		return err
	}
	fmt.Fprintf(log, "the release is in %s\n", final)
	return nil
}

const pageName = "planner.html"

// pageTwice makes the planner page from two copies of the source and returns it. Both pages must be
// the same. It puts each where programs that are built from that copy embed it.
func pageTwice(version, dir, other string) ([]byte, error) {
	var pages [2][]byte
	for i, folder := range []string{dir, other} {
		planner, err := web.Compile(context.Background(), folder, version)
		if err != nil {
			return nil, err
		}
		if pages[i], err = web.Page(planner); err != nil {
			return nil, err
		}
		embedded := filepath.Join(folder, "web", "made", pageName)
		if err := os.MkdirAll(filepath.Dir(embedded), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(embedded, pages[i], 0o666); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(pages[0], pages[1]) {
		return nil, errors.New("two builds of the same source differ")
	}
	return pages[0], nil
}

// checkVersion returns an error if version cannot be a version of this module. From v2 on, the path
// of a module must end with the major version.
func checkVersion(version string) error {
	if semver.Canonical(version) != version || !semver.IsValid(version) {
		return fmt.Errorf("VERSION = %q, must be a semantic version such as v1.2.3 or v1.3.0-rc.1", version)
	}
	if !module.MatchPathMajor(version, "") {
		return fmt.Errorf("VERSION = %q, must be v0 or v1: the module's path has no suffix /%s", version,
			semver.Major(version))
	}
	return nil
}

// copyTo makes another checkout of the same commit or, without git, a copy of the files.
func copyTo(dir, other string) error {
	if checkout.UnderGit(dir) {
		_, err := checkout.Git(dir, "clone", "--quiet", "--no-hardlinks", ".", other)
		return err
	}
	files, err := checkout.Read(dir)
	if err != nil {
		return err
	}
	return files.Write(other)
}

// buildTwice builds the program from dir into the file, and again from other with the given cache.
// It returns the bytes of the program, which must be the same both times.
func buildTwice(t target, version, dir, other, file, cache string) ([]byte, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if err := t.build("page", version, dir, file); err != nil {
		return nil, err
	}
	again := filepath.Join(filepath.Dir(other), "again")
	if err := t.build("page", version, other, again, "GOCACHE="+cache); err != nil {
		return nil, err
	}
	first, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	second, err := os.ReadFile(again)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, errors.New("two builds of the same source differ")
	}
	return first, nil
}

// places are those settings of the go command that say where modules and cached builds come from.
// They do not affect the program.
var places = []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOINSECURE"}

// build builds the program of a version from the module in dir, with a build tag. It ignores the user's build
// settings, both in the environment and from go env -w.
func (t target) build(tag, version, dir, file string, env ...string) error {
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	kept, err := exec.Command("go", append([]string{"env"}, places...)...).Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	linked := "-s -w -buildid="
	if version != "" {
		linked += " -X " + modfile.ModulePath(mod) + "/internal/version.release=" + version
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-tags="+tag,
		"-ldflags="+linked, "-o", file, "./cmd/proactivedp")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOENV=off", "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0",
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off")
	for i, value := range strings.SplitN(string(kept), "\n", len(places)) {
		cmd.Env = append(cmd.Env, places[i]+"="+strings.TrimSpace(value))
	}
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
