//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// memory and file limit the address space and the size of a file of a test with a fault, in bytes.
// Some faults make a loop endless.
const (
	memory = 12 << 30
	file   = 1 << 30
)

// skipped are tests that take minutes or measure time, and find no faults that other tests do not
// find. They build the program with planted faults, kill processes, or compare a forecast with the
// clock.
const skipped = "^(TestPlantedFaultsAreFound|TestKilledRunsGoOnToTheSameBits|TestForecastOfTheTime)$"

// replay plants the faults of a list one by one and runs the tests.
type replay struct {
	out       io.Writer
	dir, file string
	only      string
	near      int
	limit     time.Duration
	record    bool

	rests map[string][]string // for each folder, the folders of the packages that import it
}

func (r *replay) run() error {
	l, err := readList(r.file)
	if err != nil {
		return err
	}
	if err := r.readImports(); err != nil {
		return err
	}
	for limit, most := range map[int]uint64{syscall.RLIMIT_AS: memory, syscall.RLIMIT_FSIZE: file} {
		if err := syscall.Setrlimit(limit, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit of memory and files: %w", err)
		}
	}
	found, equivalent := 0, 0
	var survived []fault
	var problems []error
	for i := range l.Faults {
		f := &l.Faults[i]
		if !strings.Contains(f.Package+" "+f.Name, r.only) {
			continue
		}
		if f.Equivalent != "" {
			equivalent++
			continue
		}
		start := time.Now()
		by, err := r.try(*f)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s in %s/%s: %w", f.Name, f.Package, f.File, err))
			fmt.Fprintf(r.out, "%s  %-9s %v\n", f.Name, "PROBLEM", err)
		case by == "":
			survived = append(survived, *f)
			fmt.Fprintf(r.out, "%s  %-9s %s\n", f.Name, "SURVIVED", f.describe())
		default:
			found++
			fmt.Fprintf(r.out, "%s  %-9s by %s in %.0f s\n", f.Name, "found", by, time.Since(start).Seconds())
		}
		if r.record && err == nil {
			f.Red = by
			if err := l.write(r.file); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(r.out, "%d found, %d survived, %d equivalent\n", found, len(survived), equivalent)
	if len(survived) > 0 {
		problems = append(problems, fmt.Errorf("%d faults survive the tests", len(survived)))
	}
	return errors.Join(problems...)
}

func (f fault) describe() string {
	return fmt.Sprintf("%s/%s, %s: %s\n\t- %s\n\t+ %s", f.Package, f.File, f.In, f.Kind, f.Before, f.After)
}

// try plants one fault and returns the test that failed, "package Test", or "".
func (r *replay) try(f fault) (by string, err error) {
	path, faulty, err := f.plant(r.dir)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	copied, overlay := filepath.Join(dir, filepath.Base(path)), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(copied, []byte(faulty), 0o600); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: copied}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", err
	}
	if folder, test, ok := strings.Cut(f.Red, " "); ok && test != wholePackage {
		if found, err := r.test(overlay, folder, test, r.limit); err != nil || found.test != "" {
			return f.Red, err
		}
	}
	for _, folder := range r.nearest(f.Package) {
		test, err := r.first(overlay, folder)
		if err != nil || test != "" {
			return folder + " " + test, err
		}
	}
	return "", nil
}

// patience is how many times longer the tests of a package may take if they do not hang without the
// fault. Other programs may be using the processors.
const patience = 10

// first runs the tests of a package and returns the first that failed, or "". A test that ran out of
// time counts only if it also does so when it runs by itself.
func (r *replay) first(overlay, folder string) (string, error) {
	found, err := r.test(overlay, folder, "", r.limit)
	if err != nil || !found.late {
		return found.test, err
	}
	if alone, err := r.test(overlay, folder, found.test, r.limit); err != nil || alone.test != "" {
		return alone.test, err
	}
	found, err = r.test(overlay, folder, "", patience*r.limit)
	return found.test, err
}

// wholePackage stands for a test's name if the package failed without naming a test.
const wholePackage = "."

// red is the first test that failed, or "", and whether it ran out of time.
type red struct {
	test string
	late bool
}

// test runs one test of a package with an overlay, or all tests if only is "".
func (r *replay) test(overlay, folder, only string, limit time.Duration) (red, error) {
	args := []string{"test", "-json", "-vet=off", "-failfast", "-timeout", limit.String(), "-skip", skipped}
	if only != "" && only != wholePackage {
		args = append(args, "-run", "^"+only+"$")
	}
	cmd := exec.Command("go", append(args, "./"+folder)...)
	cmd.Dir = r.dir
	// Tests that build a program must build it with the fault too.
	cmd.Env = append(os.Environ(), strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err == nil {
		return red{}, nil
	}
	var found red
	var running []string
	for scanner := bufio.NewScanner(&stdout); scanner.Scan(); {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			continue
		}
		found.late = found.late || strings.HasPrefix(e.Output, "panic: test timed out after ")
		switch {
		case e.Action == "build-fail":
			return red{}, fmt.Errorf("does not build: %s", strings.TrimSpace(stdout.String()+stderr.String()))
		case e.Action == "run" || e.Action == "cont":
			running = append(running, e.Test)
		case e.Action == "pass" || e.Action == "skip" || e.Action == "pause":
			running = slices.DeleteFunc(running, func(test string) bool { return test == e.Test })
		case e.Action == "fail" && found.test == "":
			if found.test = e.Test; found.test == "" && len(running) > 0 {
				found.test = running[len(running)-1] // the test hung, or ended the process
			}
			if found.test == "" {
				found.test = wholePackage
			}
			found.test, _, _ = strings.Cut(found.test, "/")
		}
	}
	if found.test == "" {
		return red{}, fmt.Errorf("go test: %s", strings.TrimSpace(stderr.String()))
	}
	return found, nil
}

// readImports reads which packages import which, in their code or their tests.
func (r *replay) readImports() error {
	cmd := exec.Command("go", "list", "-json=ImportPath,Module,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = r.dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	r.rests = map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Module                             struct{ Path string }
			Imports, TestImports, XTestImports []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		own := strings.TrimPrefix(p.ImportPath, p.Module.Path+"/")
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if of, ok := strings.CutPrefix(path, p.Module.Path+"/"); ok && of != own &&
				!slices.Contains(r.rests[of], own) {
				r.rests[of] = append(r.rests[of], own)
			}
		}
	}
}

// nearest lists a package and those that depend on it, ordered by the number of imports in between.
func (r *replay) nearest(folder string) []string {
	all, away := []string{folder}, map[string]int{folder: 0}
	for i := 0; i < len(all); i++ {
		for _, other := range r.rests[all[i]] {
			if _, known := away[other]; !known && (r.near < 0 || away[all[i]] < r.near) {
				away[other] = away[all[i]] + 1
				all = append(all, other)
			}
		}
	}
	return all
}
