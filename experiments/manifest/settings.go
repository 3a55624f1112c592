package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// OtherSettings says where the settings of a manifest, its config, are not those given; "" if
// they are. What these cost is left out: it follows, as each version computes it.
func OtherSettings(config json.RawMessage, settings any) (string, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("manifest: settings: %w", err)
	}
	var is, was any
	if err := json.Unmarshal(text, &is); err != nil {
		return "", fmt.Errorf("manifest: settings: %w", err)
	}
	if err := json.Unmarshal(config, &was); err != nil {
		return "", fmt.Errorf("manifest: config: %w", err)
	}
	return difference("config", was, is), nil
}

// costs is the key of what settings cost.
const costs = "privacy"

// difference says where one value of JSON is not the other; "" if nowhere.
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
			if _, has := was[key]; !has {
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
	case nil, bool, float64, string:
		if was == is {
			return ""
		}
	}
	return fmt.Sprintf("has %s = %v, not %v", at, was, is)
}
