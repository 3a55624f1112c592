//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// replay plants the faults of a list one by one and runs the tests that must fail.
type replay struct {
	out       io.Writer
	dir, file string
	only      string
	limit     time.Duration
}

func (r *replay) run() error {
	l, err := readList(r.file)
	if err != nil {
		return err
	}
	for limit, most := range map[int]uint64{syscall.RLIMIT_AS: memory, syscall.RLIMIT_FSIZE: file} {
		if err := syscall.Setrlimit(limit, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit of memory and files: %w", err)
		}
	}
	found, survived, equivalent := 0, 0, 0
	var problems []error
	for _, f := range l.Faults {
		if !strings.Contains(f.Package+" "+f.Name, r.only) {
			continue
		}
		if f.Equivalent != "" {
			equivalent++
			continue
		}
		start := time.Now()
		failed, err := r.try(f)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s in %s/%s: %w", f.Name, f.Package, f.File, err))
			fmt.Fprintf(r.out, "%s  %-9s %v\n", f.Name, "PROBLEM", err)
		case !failed:
			survived++
			fmt.Fprintf(r.out, "%s  %-9s %s/%s, %s: %s\n\t- %s\n\t+ %s\n", f.Name, "SURVIVED", f.Package, f.File, f.In,
				f.Kind, f.Before, f.After)
		default:
			found++
			fmt.Fprintf(r.out, "%s  %-9s in %.0f s\n", f.Name, "found", time.Since(start).Seconds())
		}
	}
	fmt.Fprintf(r.out, "%d found, %d survived, %d equivalent\n", found, survived, equivalent)
	if survived > 0 {
		problems = append(problems, fmt.Errorf("%d faults survive the tests", survived))
	}
	return errors.Join(problems...)
}

// try plants one fault, runs its test, or all tests of its package, and reports whether they failed.
func (r *replay) try(f fault) (failed bool, err error) {
	path, faulty, err := f.plant(r.dir)
	if err != nil {
		return false, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	copied, overlay := filepath.Join(dir, filepath.Base(path)), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: copied}})
	if err != nil {
		return false, err
	}
	if err := errors.Join(os.WriteFile(copied, []byte(faulty), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return false, err
	}
	args := []string{"test", "-vet=off", "-failfast", "-timeout", r.limit.String(), "-skip", skipped}
	folder, test, known := strings.Cut(f.Red, " ")
	if known {
		args = append(args, "-run", "^"+test+"$")
	} else {
		folder = f.Package
	}
	cmd := exec.Command("go", append(args, "./"+folder)...)
	cmd.Dir = r.dir
	// Tests that build a program must build it with the fault too.
	cmd.Env = append(os.Environ(), strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return false, nil
	case !bytes.Contains(out, []byte("\nFAIL\t")) || bytes.Contains(out, []byte(" failed]\n")):
		return false, fmt.Errorf("go test: %w: %s", err, bytes.TrimSpace(out)) // for example, it does not build
	}
	return true, nil
}
