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
)

// packageFolders returns the folders of this module's packages that the program is built from.
func packageFolders(t *testing.T) []string {
	list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}", ".")
	text, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	found := strings.Fields(string(text))
	if len(found) < 30 {
		t.Fatalf("%d packages, must be at least 30", len(found))
	}
	return found
}

// beginnings finds the words with which errors begin.
var beginnings = regexp.MustCompile(`(?:Errorf|errors\.New|fail)\((?:"|` + "`" + `)([a-z0-9]+): `)

// No error begins with the name of its package: it would tell a user nothing, and cannot be removed
// later without a risk for the text of others.
func TestErrorsDoNotNamePackages(t *testing.T) {
	looked := 0
	for _, folder := range packageFolders(t) {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range beginnings.FindAllSubmatch(text, -1) {
				looked++
				if strings.Contains("\n"+string(text), "\npackage "+string(m[1])+"\n") {
					t.Errorf("%s: %s begins with the name of the package", file, m[0])
				}
			}
		}
	}
	if looked < 20 {
		t.Errorf("only %d errors begin with a word and a colon", looked)
	}
}

// The name of a file is printed whole, also if it has the names of packages in it.
func TestNamesOfFilesAreWhole(t *testing.T) {
	folders := packageFolders(t)
	t.Chdir(t.TempDir())
	for some := range slices.Chunk(folders, 20) {
		args := []string{"account", "--delta", "1e-5"}
		var files []string
		for _, folder := range some {
			name := filepath.Base(folder)
			files = append(files, name, name+": y.json", "rounds: "+name+": y.json", name+": "+name+"; "+name+": y")
		}
		for _, file := range files {
			args = append(args, "--events", file)
		}
		for _, want := range []string{"--events: open %s: no such file", "%s: events: none"} {
			var stdout, stderr strings.Builder
			code := run(t.Context(), args, &stdout, &stderr)
			printed := "\n" + strings.TrimPrefix(stderr.String(), "proactivedp: ")
			for _, file := range files {
				line := fmt.Sprintf(want, file)
				if code != exitUsage || !strings.Contains(printed, "\n"+line) {
					t.Errorf("status %d, %q, want %q", code, printed, line)
				}
				if err := os.WriteFile(file, []byte("[]"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
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
