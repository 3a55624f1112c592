package strictjson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// DecodeWhole decodes as Decode does, but a missing field is an error too. Use it for values that this
// program writes and then receives from a process that is not trusted: Decode would read a missing field
// as zero, which is a valid number. Every field of a struct must exist and not be null, unless its tag has
// omitempty or omitzero. Slices and maps may be null, because nil is written that way. Strings must be
// printable on one line and have at most mostText bytes.
func DecodeWhole(text []byte, v any, mostText int) error {
	if err := decode(text, v, false, mostText); err != nil {
		return err
	}
	return whole(text, reflect.TypeOf(v).Elem(), "")
}

// whole returns an error for the first field of the type that is missing in a value. Decode must
// have accepted the value. Its name, for errors, is "" if it is the outermost one.
func whole(text json.RawMessage, t reflect.Type, name string) error {
	null := string(text) == "null"
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		if null {
			return nil
		}
		return whole(text, t.Elem(), name)
	case null && kind != reflect.Slice && kind != reflect.Map:
		return fmt.Errorf("%s is null, must be given", cmp.Or(name, "the value"))
	case null || reads(t): // a type that reads its own JSON checks it
		return nil
	case kind == reflect.Slice || kind == reflect.Array:
		if !hasStruct(t.Elem()) {
			return nil
		}
		var all []json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
		for i, one := range all {
			if err := whole(one, t.Elem(), fmt.Sprintf("%s[%d]", cmp.Or(name, "the value"), i)); err != nil {
				return err
			}
		}
		return nil
	case kind == reflect.Struct:
		var given map[string]json.RawMessage
		if err := json.Unmarshal(text, &given); err != nil {
			return err
		}
		byKey := make(map[string]json.RawMessage, len(given))
		for key, value := range given {
			byKey[folded(key)] = value
		}
		return wholeFields(byKey, t, name)
	}
	return nil
}

// wholeFields returns an error for the first field of a struct that is missing among the keys.
func wholeFields(given map[string]json.RawMessage, t reflect.Type, name string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" && options == "" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && key == "" && f.Type.Kind() == reflect.Struct { // its fields belong to the enclosing struct
			if err := wholeFields(given, f.Type, name); err != nil {
				return err
			}
			continue
		}
		if key == "" {
			key = f.Name
		}
		inside := strings.TrimPrefix(name+"."+key, ".")
		value, ok := given[folded(key)]
		if !ok {
			if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
				continue
			}
			return fmt.Errorf("%s is missing, must be given", inside)
		}
		if err := whole(value, f.Type, inside); err != nil {
			return err
		}
	}
	return nil
}

func reads(t reflect.Type) bool {
	p, text := reflect.PointerTo(t), reflect.TypeFor[encoding.TextUnmarshaler]()
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(text)
}

// hasStruct reports whether values of the type t contain structs, so that fields may be missing in
// their JSON.
func hasStruct(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && !reads(t)
}
