package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"proactivedp/internal/testkit"
)

// schemas is the folder of the JSON schemas of what commands print with --json.
const schemas = "../../docs/schema"

// Every command that prints JSON has its schema, and there are no others.
func TestSchemas(t *testing.T) {
	testkit.CheckSchema(t, schemas, "version", build{})
	files, err := os.ReadDir(schemas)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, f := range files {
		has[strings.TrimSuffix(f.Name(), ".json")] = true
	}
	for _, c := range commands(newRoot()) {
		name := strings.Join(strings.Fields(c.CommandPath())[1:], "-")
		if prints := c.Flags().Lookup("json") != nil; prints != has[name] {
			t.Errorf("%s prints JSON: %v, has a schema: %v", c.CommandPath(), prints, has[name])
		}
		delete(has, name)
	}
	for _, wrong := range []string{`{"version": 3}`, `{"more": ""}`, `[]`, `{}`} {
		var answer any
		if err := json.Unmarshal([]byte(wrong), &answer); err != nil {
			t.Fatal(err)
		}
		schema, err := os.ReadFile(schemas + "/version.json")
		if err != nil {
			t.Fatal(err)
		}
		if testkit.Valid(schema, answer) == nil {
			t.Errorf("%s is valid", wrong)
		}
	}
	for _, protocol := range []string{"trainer-task", "trainer-line"} { // tested in package trainer
		delete(has, protocol)
	}
	if len(has) > 0 {
		t.Errorf("schemas of no command: %v", has)
	}
}
