package experiments

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/results"
)

// "make results" makes exactly the committed figures, each with the command in its manifest.
func TestMakeResultsMakesWhatIsCommitted(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([A-Z_]+) +\?= (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		variables["$("+m[1]+")"] = m[2]
	}
	_, recipe, _ := strings.Cut(string(text), "\nresults:")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	made := map[string]string{} // the command of each figure, by its folder
	for line := range strings.Lines(recipe) {
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if len(words) < 2 || words[0] != "$(BIN)" || words[1] != "figures" {
			continue
		}
		flags := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") })
		figures, err := Select(words[2:flags])
		if err != nil {
			t.Fatal(err)
		}
		out, command := "", ""
		for i := flags; i+1 < len(words); i += 2 {
			if words[i] == "--out" {
				out = words[i+1]
			} else {
				command += " " + words[i] + " " + cmp.Or(variables[words[i+1]], words[i+1])
			}
		}
		for _, f := range figures {
			folder := filepath.Join("..", out, f.Name)
			if made[folder] != "" {
				t.Errorf("%s is made twice", folder)
			}
			made[folder] = "proactivedp figures " + f.Name + command
		}
	}
	committed := map[string]string{}
	for _, pattern := range []string{"../results/*", "../results/*/*"} {
		paths, err := filepath.Glob(filepath.Join(pattern, results.ManifestFile))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := results.ManifestText(filepath.Dir(path), "")
			if err != nil {
				t.Fatal(err)
			}
			var m struct {
				Command string `json:"command"`
			}
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(m.Command, "proactivedp figures ") {
				committed[filepath.Dir(path)] = m.Command
			}
		}
	}
	if len(committed) == 0 {
		t.Error("no figures are committed: the test tests nothing")
	}
	for folder, command := range committed {
		if made[folder] != command {
			t.Errorf("%s is by %q, make results makes it by %q", folder, command, made[folder])
		}
	}
	for folder := range made {
		if _, there := committed[folder]; !there {
			t.Errorf("make results makes %s, which is not committed", folder)
		}
	}
}
