package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
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
		if checkAnswer(schema, answer) == nil {
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

// checkAnswer returns an error if the JSON schema of a command does not allow the answer, which is decoded JSON. Keys
// that the schema does not list are not allowed.
func checkAnswer(schema []byte, answer any) error {
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		return err
	}
	defs, _ := root["$defs"].(map[string]any)
	return checkValue(root, defs, answer, "answer")
}

func checkValue(schema, defs map[string]any, v any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		schema = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if of, ok := schema["anyOf"].([]any); ok {
		var first error
		for _, one := range of {
			err := checkValue(one.(map[string]any), defs, v, at)
			if err == nil {
				return nil
			}
			first = cmp.Or(first, err)
		}
		return first
	}
	kind := "null"
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		if err := checkObject(schema, defs, v, at); err != nil {
			return err
		}
	case []any:
		kind = "array"
		items, _ := schema["items"].(map[string]any)
		for i, element := range v {
			if err := checkValue(items, defs, element, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case float64:
		if kind = "number"; schema["type"] == "integer" && v == float64(int64(v)) {
			kind = "integer"
		}
	}
	if want, ok := schema["type"]; ok && want != kind {
		return fmt.Errorf("%s is of type %s, want %v", at, kind, want)
	}
	return nil
}

func checkObject(schema, defs map[string]any, v map[string]any, at string) error {
	properties, _ := schema["properties"].(map[string]any)
	others, _ := schema["additionalProperties"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(v)) {
		of, ok := properties[key].(map[string]any)
		if !ok {
			of = others
		}
		if of == nil && schema["type"] == "object" {
			return fmt.Errorf("%s has the key %s, which the schema does not have", at, key)
		}
		if err := checkValue(of, defs, v[key], at+"."+key); err != nil {
			return err
		}
	}
	required, _ := schema["required"].([]any)
	for _, key := range required {
		if _, ok := v[key.(string)]; !ok {
			return fmt.Errorf("%s lacks the key %s", at, key)
		}
	}
	return nil
}
