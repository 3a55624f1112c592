package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listed is a command that prints JSON, with the keys that it had when the list was made.
type listed struct {
	command string
	keys    []string
}

// listedCommands returns those of testdata/keys/json.txt, and goes where they can be run.
func listedCommands(t *testing.T) []listed {
	t.Helper()
	list, err := os.ReadFile("testdata/keys/json.txt")
	if err != nil {
		t.Fatal(err)
	}
	past, err := os.ReadFile("testdata/keys/past.csv")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("past.csv", past, 0o666); err != nil {
		t.Fatal(err)
	}
	var all []listed
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSuffix(line, "\n")
		key, isKey := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isKey:
			last := &all[len(all)-1]
			last.keys = append(last.keys, key)
		default:
			all = append(all, listed{command: line})
		}
	}
	return all
}

// The listed commands keep every key of their JSON: what others read may gain keys and
// lose none. And nothing that they print without --json is on the unsafe side of what was
// computed: every number of the text that is a bound of the JSON is on its safe side.
func TestListedCommandsKeepKeysAndBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("runs what TestScripts runs, again")
	}
	schemaOf := map[string][]byte{}
	files, err := filepath.Glob(schemas + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if schemaOf[strings.TrimSuffix(filepath.Base(file), ".json")], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	commands, keys, texts, numbers := 0, 0, 0, 0
	for _, c := range listedCommands(t) {
		var answer any
		if err := json.Unmarshal([]byte(printed(t, c.command)), &answer); err != nil {
			t.Errorf("proactivedp %s: %v", c.command, err)
			continue
		}
		commands++
		name, _, _ := strings.Cut(c.command, " ")
		if err := checkAnswer(schemaOf[name], answer); err != nil {
			t.Errorf("proactivedp %s: its schema does not allow what it prints: %v", c.command, err)
		}
		got := map[string]bool{}
		addKeys(got, answer, "")
		for _, key := range c.keys {
			if keys++; !got[key] {
				t.Errorf("proactivedp %s: the key %s is gone", c.command, key)
			}
		}
		if strings.Contains(c.command, "hogwild") { // two runs of it are not the same
			continue
		}
		var b bounds
		b.add(answer, "")
		wrong, seen := b.unsafe(printed(t, strings.TrimSuffix(c.command, " --json")))
		if len(wrong) > 0 {
			t.Errorf("proactivedp %s: %s are on the unsafe side of what was computed", c.command,
				strings.Join(wrong, ", "))
		}
		texts++
		numbers += seen
	}
	t.Logf("%d commands with %d keys, %d texts with %d bounds", commands, keys, texts, numbers)
	if commands < 30 || keys < 1880 || texts < 25 || numbers < 200 {
		t.Errorf("%d commands with %d keys and %d texts with %d bounds were looked at, want at least 30, 1,880, 25 "+
			"and 200", commands, keys, texts, numbers)
	}
}

// addKeys adds the paths of all keys in v, which is at path.
func addKeys(to map[string]bool, v any, path string) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			addKeys(to, element, path+"[]")
		}
	case map[string]any:
		for key, value := range v {
			at := key
			if path != "" {
				at = path + "." + key
			}
			to[at] = true
			addKeys(to, value, at)
		}
	}
}
