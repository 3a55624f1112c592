package testkit

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var writeSchemas = flag.Bool("schemas", false, "write the JSON schemas in docs/schema instead of comparing them")

// CheckSchema fails the test unless the schema file of the command, in folder, describes what the command prints with
// --json: one JSON value, of the Go type of one of answers. With the test flag -schemas, CheckSchema writes the file
// instead.
func CheckSchema(t *testing.T, folder, command string, answers ...any) {
	t.Helper()
	CheckSchemaOf(t, folder, command, "proactivedp "+command+" --json", answers...)
}

// CheckSchemaOf does the same as CheckSchema for JSON that is not the output of a command. command is
// then the name of its schema file, and title describes it.
func CheckSchemaOf(t *testing.T, folder, command, title string, answers ...any) {
	t.Helper()
	s := schemas{defs: map[string]any{}}
	var of []any
	for _, a := range answers {
		of = append(of, s.of(reflect.TypeOf(a)))
	}
	schema := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   title,
		"anyOf":   of,
	}
	if len(s.defs) > 0 {
		schema["$defs"] = s.defs
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(schema); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, strings.ReplaceAll(command, " ", "-")+".json")
	if *writeSchemas {
		if err := os.WriteFile(path, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not the schema of %s (%v): run this test with -schemas", path, title, err)
	}
}

// schemas makes schemas of types. Structs with names are defined once.
type schemas struct{ defs map[string]any }

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
)

func (s schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return map[string]any{} // anything
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem())
	case t.Implements(jsonMarshaler):
		return s.marshaled(t)
	case t.Implements(textMarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		if t.Name() == "" {
			return s.object(t)
		}
		name := t.String()
		if _, known := s.defs[name]; !known {
			s.defs[name] = nil // the type may contain itself
			s.defs[name] = s.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string"}
		}
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	}
	return map[string]any{"type": cmp.Or(simple[t.Kind()], "integer")}
}

// simple has the JSON types of simple kinds. The others are integers.
var simple = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Float32: "number",
	reflect.Float64: "number"}

// marshaled returns the schema of a type that writes its own JSON. This is the schema of the value
// that its method JSON returns. Without such a method, it is that of an array, if the type is
// written as one.
func (s schemas) marshaled(t reflect.Type) map[string]any {
	if m, ok := t.MethodByName("JSON"); ok && m.Type.NumOut() == 1 {
		return s.of(m.Type.Out(0))
	}
	text, err := json.Marshal(reflect.Zero(t).Interface())
	if err == nil && bytes.HasPrefix(text, []byte("[")) {
		return map[string]any{"type": "array"}
	}
	return map[string]any{}
}

func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	s.fields(t, properties, &required)
	slices.Sort(required)
	object := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		object["required"] = required
	}
	return object
}

// fields adds the fields of a struct, and those of its embedded structs that it does not hide.
func (s schemas) fields(t reflect.Type, properties map[string]any, required *[]string) {
	type part struct {
		of       reflect.Type
		optional bool // it may be nil, which leaves out its keys
	}
	var embedded []part
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := f.Type
		if f.Type.Kind() == reflect.Pointer {
			at = f.Type.Elem()
		}
		switch {
		case name == "-" || f.PkgPath != "" && !f.Anonymous:
			continue
		case f.Anonymous && name == "" && at.Kind() == reflect.Struct && !f.Type.Implements(jsonMarshaler):
			embedded = append(embedded, part{at, strings.Contains(options, "omit")})
			continue
		case name == "":
			name = f.Name
		}
		if properties[name] != nil {
			continue
		}
		of := s.of(f.Type)
		omitted := strings.Contains(options, "omit")
		nullable := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map
		if nullable && !omitted {
			of = map[string]any{"anyOf": []any{of, map[string]any{"type": "null"}}}
		}
		if !omitted {
			*required = append(*required, name)
		}
		properties[name] = of
	}
	for _, e := range embedded {
		keys := required
		if e.optional {
			keys = new([]string)
		}
		s.fields(e.of, properties, keys)
	}
}
