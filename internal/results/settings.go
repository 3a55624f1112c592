package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// OtherSettings describes the first difference between the settings in a manifest's config and the given settings. It
// returns "" if they are equal. Privacy costs are not compared, because they are computed from the settings.
func OtherSettings(config json.RawMessage, settings any) (string, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	is, err := values(text)
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	was, err := values(config)
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	return difference("config", was, is), nil
}

// values parses JSON. Numbers keep their text, because several large integers, such as seeds, have the
// same float64.
func values(text []byte) (any, error) {
	if !json.Valid(text) {
		return nil, errors.New("it is not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// sameNumber reports whether two numbers are equal, however they are written. Integers are compared
// exactly.
func sameNumber(a, b json.Number) bool {
	x, err := strconv.ParseUint(a.String(), 10, 64)
	y, failed := strconv.ParseUint(b.String(), 10, 64)
	if err == nil && failed == nil {
		return x == y
	}
	v, err := a.Float64()
	w, failed := b.Float64()
	return err == nil && failed == nil && v == w
}

// costs is the key of a manifest's config under which the privacy cost of settings is.
const costs = "privacy"

// difference describes the first difference of two JSON values, or returns "".
func difference(at string, was, is any) string {
	switch was := was.(type) {
	case map[string]any:
		is, same := is.(map[string]any)
		if !same {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(was)) {
			if text := difference(at+"."+key, was[key], is[key]); text != "" && key != costs {
				return text
			}
		}
		for _, key := range slices.Sorted(maps.Keys(is)) {
			if _, has := was[key]; !has && key != costs {
				return fmt.Sprintf("lacks %s.%s = %v", at, key, is[key])
			}
		}
		return ""
	case []any:
		if is, same := is.([]any); same && len(was) == len(is) {
			for i := range was {
				if text := difference(fmt.Sprintf("%s[%d]", at, i), was[i], is[i]); text != "" {
					return text
				}
			}
			return ""
		}
	case json.Number:
		if is, same := is.(json.Number); same && sameNumber(was, is) {
			return ""
		}
	case nil, bool, string:
		if was == is {
			return ""
		}
	}
	return fmt.Sprintf("has %s = %v, not %v", at, was, is)
}
