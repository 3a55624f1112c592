package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The files in deploy are YAML, and what they call the program with is a command of it with
// flags that it has.
func TestDeploymentsCallCommands(t *testing.T) {
	files, err := filepath.Glob("../../deploy/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		called := 0
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var document any
			err := d.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for _, args := range argumentLists(document) {
				called++
				found, rest, err := newRoot().Find(args)
				if err == nil {
					err = found.ParseFlags(rest)
				}
				if err == nil && found.Args != nil {
					err = found.Args(found, found.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s: %v: %v", path, args, err)
				}
			}
		}
		if called < 2 {
			t.Errorf("%s calls the program %d times, must be at least 2", path, called)
		}
	}
}

// argumentLists returns the lists of words below v, under "args" and "command", that call
// the program: those of which the first is no flag.
func argumentLists(v any) [][]string {
	var all [][]string
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			all = append(all, argumentLists(one)...)
		}
	case map[string]any:
		for key, one := range v {
			words, ok := one.([]any)
			if !ok || key != "args" && key != "command" {
				all = append(all, argumentLists(one)...)
				continue
			}
			var list []string
			for _, w := range words {
				text, _ := w.(string)
				list = append(list, text)
			}
			if len(list) > 0 && !strings.HasPrefix(list[0], "-") {
				all = append(all, list)
			}
		}
	}
	return all
}
