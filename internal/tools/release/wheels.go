package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"proactivedp/internal/files"
	"proactivedp/internal/tools/checkout"
)

// wheelTags are the platforms of a wheel with the program of a target. A static program runs with every C
// library. The versions of macOS are the oldest ones that Go's programs run on.
var wheelTags = map[target][]string{
	{"darwin", "amd64"}:  {"macosx_12_0_x86_64"},
	{"darwin", "arm64"}:  {"macosx_12_0_arm64"},
	{"linux", "amd64"}:   {"manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	{"linux", "arm64"}:   {"manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	{"windows", "amd64"}: {"win_amd64"},
	{"windows", "arm64"}: {"win_arm64"},
}

// maxWheel is the largest size of a wheel in bytes.
const maxWheel = 15_000_000

// wheels writes a wheel of the Python package for each target into the folder out, with the program built from
// the module in dir, without a broker. The bytes of a wheel depend only on the commit, the version and the Go
// toolchain. version may be "", for a wheel that is not released.
func wheels(dir, out, version string, targets []target, log io.Writer) error {
	if version != "" {
		if err := errors.Join(checkVersion(version), checkPre(version), checkout.Clean(dir)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	made, err := os.MkdirTemp("", "proactivedp-wheels-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	for _, t := range targets {
		if wheelTags[t] == nil {
			return fmt.Errorf("%s/%s: wheels have no name for this platform", t.os, t.arch)
		}
		program := filepath.Join(made, t.file(version))
		if err := t.build("nobroker", version, dir, program); err != nil {
			return err
		}
		binary, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		parts, err := t.parts(dir, wheelVersion(version), binary)
		if err != nil {
			return err
		}
		wheel, err := zipped(parts)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("proactivedp-%s-py3-none-%s.whl", wheelVersion(version), strings.Join(wheelTags[t], "."))
		if len(wheel) > maxWheel {
			return fmt.Errorf("%s has %d bytes, must be at most %d", name, len(wheel), maxWheel)
		}
		if err := files.Write(filepath.Join(out, name), files.Text(wheel)); err != nil {
			return err
		}
		fmt.Fprintf(log, "%s: %d bytes\n", name, len(wheel))
	}
	return nil
}

func host() target { return target{runtime.GOOS, runtime.GOARCH} }

// pythonPre is a pre-release for which Python has a name (PEP 440).
var pythonPre = regexp.MustCompile(`^-(alpha|beta|rc)\.(0|[1-9][0-9]*)$`)

// checkPre returns an error if Python has no name for the pre-release of a version.
func checkPre(version string) error {
	if pre := semver.Prerelease(version); pre != "" && !pythonPre.MatchString(pre) {
		return fmt.Errorf("VERSION = %q, the pre-release of a wheel must be alpha.N, beta.N or rc.N", version)
	}
	return nil
}

// wheelVersion writes a version as Python does (PEP 440): v1.3.0-rc.1 is 1.3.0rc1.
func wheelVersion(version string) string {
	if version == "" {
		return "0.dev0"
	}
	number, pre, isPre := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	if isPre {
		number += strings.NewReplacer(".", "", "-", "", "alpha", "a", "beta", "b").Replace(pre)
	}
	return number
}

type part struct {
	name    string
	content []byte
	mode    fs.FileMode
}

// parts returns the files of a wheel with this program. The last one lists the others.
func (t target) parts(dir, version string, program []byte) ([]part, error) {
	var parts []part
	add := func(name string, content []byte, mode fs.FileMode) { parts = append(parts, part{name, content, mode}) }
	copied := func(name, path string) error {
		content, err := os.ReadFile(filepath.Join(dir, path))
		add(name, content, 0o644)
		return err
	}
	var sources []string
	for _, pattern := range []string{"*.py", "py.typed"} {
		found, err := filepath.Glob(filepath.Join(dir, "python", "proactivedp", pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("python/proactivedp has no %s", pattern)
		}
		sources = append(sources, found...)
	}
	slices.Sort(sources)
	for _, path := range sources {
		name := "proactivedp/" + filepath.Base(path)
		if err := copied(name, "python/"+name); err != nil {
			return nil, err
		}
	}
	name := "proactivedp/bin/proactivedp"
	if t.os == "windows" {
		name += ".exe"
	}
	add(name, program, 0o755)
	about := "proactivedp-" + version + ".dist-info/"
	metadata, err := os.ReadFile(filepath.Join(dir, "python", "METADATA"))
	if err != nil {
		return nil, err
	}
	add(about+"METADATA", bytes.Replace(metadata, []byte("\nSummary:"), []byte("\nVersion: "+version+"\nSummary:"), 1), 0o644)
	add(about+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: proactivedp\nRoot-Is-Purelib: false\nTag: py3-none-"+
		strings.Join(wheelTags[t], "\nTag: py3-none-")+"\n"), 0o644)
	add(about+"entry_points.txt", []byte("[console_scripts]\nproactivedp = proactivedp.__main__:main\n"), 0o644)
	for _, name := range licences {
		if err := copied(about+"licenses/"+name, name); err != nil {
			return nil, err
		}
	}
	var record strings.Builder
	for _, p := range parts {
		sum := sha256.Sum256(p.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", p.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(p.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", about)
	add(about+"RECORD", []byte(record.String()), 0o644)
	return parts, nil
}

// zipped returns a ZIP archive of the files. The same files in the same order give the same bytes: the archive
// has a fixed date.
func zipped(parts []part) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, p := range parts {
		h := &zip.FileHeader{Name: p.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(p.mode)
		w, err := archive.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(p.content); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}
