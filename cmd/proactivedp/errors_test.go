package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/cmd/proactivedp/internal/privacy"
	"proactivedp/internal/message"
)

// beginnings finds the names with which errors begin.
var beginnings = regexp.MustCompile(`(?:Errorf|errors\.New|fail)\((?:"|` + "`" + `)([a-z0-9]+): `)

// Every package whose errors begin with its name is among the names that users do
// not see.
func TestPackagesOfErrorsAreKnown(t *testing.T) {
	found := map[string]bool{}
	list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}", ".")
	folders, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for folder := range strings.FieldsSeq(string(folders)) {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range beginnings.FindAllSubmatch(text, -1) {
				name := string(m[1])
				if strings.Contains("\n"+string(text), "\npackage "+name+"\n") {
					found[name] = true
				}
			}
		}
	}
	if len(found) < 10 {
		t.Fatalf("the errors of %d packages were found, must be at least 10", len(found))
	}
	for name := range found {
		if !slices.Contains(message.Packages, name) {
			t.Errorf("errors begin with %q: add it to message.Packages", name+": ")
		}
	}
}

// What packages put before their errors is not shown, wherever it stands; the rest is.
func TestMessageHasNoNamesOfPackages(t *testing.T) {
	inner := errors.New("clients = 0, must be at least 1")
	for _, c := range []struct {
		err  error
		want string
	}{
		{inner, "clients = 0, must be at least 1"},
		{fmt.Errorf("cell 3: %w", inner), "cell 3: clients = 0, must be at least 1"},
		{fmt.Errorf("%w", inner), "clients = 0, must be at least 1"},
		{errors.Join(inner, errors.New("sampling = \"x\"")), "clients = 0, must be at least 1\nsampling = \"x\""},
		{errors.New("open my-plan: no such file or directory"), "open my-plan: no such file or directory"},
		{errors.New("the data: none"), "the data: none"},
	} {
		if got := message.Of(c.err); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.err, got, c.want)
		}
	}
}

// An audit that finds the mechanism broken ends with the status that its help names, whether
// ε is violated or only a check of what is sent fails: no mechanism here is broken, so that
// no command shows it.
func TestStatusOfAudits(t *testing.T) {
	for _, err := range []error{privacy.ErrViolated, privacy.ErrBroken, privacy.ErrNotFound} {
		if got := statusOf(errors.Join(errors.New("workers"), err)); got != exitAudit {
			t.Errorf("%v: status %d, want %d", err, got, exitAudit)
		}
	}
	if got := statusOf(errors.New("disk full")); got != exitFailure {
		t.Errorf("another error: status %d, want %d", got, exitFailure)
	}
}

// A name with a line break, an escape sequence or a change of the reading order could forge lines
// of a message, so no argument has one; it is quoted in one line. A tab may be a separator.
func TestArgumentsArePrintable(t *testing.T) {
	for _, name := range []string{"x\npld  e <= 0.1", "x\x1b[2J", "x\u202e1.0", "x\u2028y", "x\ry"} {
		for _, args := range [][]string{
			{"account", "--events", name, "--delta", "1e-5"}, {"report", name}, {"report", "--out=" + name},
			{"train", "--plan", name}, {name},
		} {
			var stdout, stderr strings.Builder
			code := run(t.Context(), args, &stdout, &stderr)
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			if code != exitUsage || stdout.Len() != 0 || len(lines) != 2 || strings.ContainsAny(stderr.String(), "\x1b\u202e\r") ||
				!strings.Contains(lines[0], "must have printable characters only") {
				t.Errorf("%q: status %d, %q", args, code, stderr.String())
			}
		}
	}
	if _, err := cli.CheckArguments(nil, []string{"--separator", "\t", "größe.csv"}); err != nil {
		t.Error(err)
	}
}
