package cli

import (
	"strings"
	"testing"
)

// Flags that contradict each other are refused, each pair in words of its own.
func TestOutputFlagsThatContradictEachOther(t *testing.T) {
	for _, c := range []struct {
		flags OutputFlags
		want  string // "": they agree
	}{
		{OutputFlags{}, ""},
		{OutputFlags{json: true}, ""},
		{OutputFlags{statement: true}, ""},
		{OutputFlags{Format: "opacus"}, ""},
		{OutputFlags{Format: jsonFormat, json: true}, ""},
		{OutputFlags{json: true, statement: true}, "--json and --statement contradict each other"},
		{OutputFlags{Format: "opacus", json: true}, "--format contradicts --json and --statement"},
		{OutputFlags{Format: "opacus", statement: true}, "--format contradicts --json and --statement"},
		{OutputFlags{Format: jsonFormat, statement: true}, "--format contradicts --json and --statement"},
		{OutputFlags{Format: "opacos"}, `--format = "opacos", must be one of `},
	} {
		err := c.flags.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.flags, err, c.want)
		}
	}
}
