package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	explained = regexp.MustCompile(`(?m)^([^\s:#]+):.*## `) // a target of the Makefile that says what it does
	shown     = regexp.MustCompile(`(?m)^  (\S+) `)         // one that make help lists
	made      = regexp.MustCompile("`make ([a-z][a-z0-9-]*)")
)

// targets lists what a pattern finds.
func targets(pattern *regexp.Regexp, text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return found
}

// make help lists every target that says what it does, and pages name no others.
func TestTargetsAreListedAndExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	known := targets(explained, string(text))
	for name, page := range markdown(t) {
		for target := range targets(made, page) {
			if !known[target] && name != "CHANGELOG.md" {
				t.Errorf("%s names make %s, which is no target", name, target)
			}
		}
	}
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skip("there is no make")
	}
	help := exec.Command(program, "--no-print-directory", "help")
	help.Dir = repository
	out, err := help.CombinedOutput()
	if err != nil {
		t.Fatalf("make help: %v: %s", err, out)
	}
	listed := targets(shown, string(out))
	for target := range known {
		if !listed[target] {
			t.Errorf("make help does not list %s", target)
		}
	}
	if len(known) == 0 {
		t.Error("the Makefile has no target that says what it does: the test tests nothing")
	}
}
