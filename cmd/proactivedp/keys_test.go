package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// listedCommands returns the list of commands, and goes where they can be run.
func listedCommands(t *testing.T) string {
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
	return string(list)
}

// TestKeysOfJSONStay runs the commands of testdata/keys/json.txt and looks for
// every key that they had when the list was made: what others read may gain
// keys and lose none.
func TestKeysOfJSONStay(t *testing.T) {
	list := listedCommands(t)
	commands, keys := 0, 0
	var command string
	var got map[string]bool
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		key, isKey := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !isKey:
			command, got = line, map[string]bool{}
			commands++
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), strings.Fields(line), &stdout, &stderr); code != exitOK {
				t.Errorf("proactivedp %s: exit status %d\n%s", command, code, &stderr)
				continue
			}
			var answer any
			if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
				t.Errorf("proactivedp %s: %v", command, err)
				continue
			}
			addKeys(got, answer, "")
		default:
			keys++
			if len(got) > 0 && !got[key] {
				t.Errorf("proactivedp %s: the key %s is gone", command, key)
			}
		}
	}
	if commands < 30 || keys < 1880 {
		t.Errorf("%d commands with %d keys were looked at, the list has 30 with 1,880", commands, keys)
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
