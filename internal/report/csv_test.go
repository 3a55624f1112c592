package report

import (
	"strings"
	"testing"
)

func TestParseRows(t *testing.T) {
	for text, want := range map[string]string{
		"": "no header", "a,a\n1,2\n": `column = "a" appears twice`, "a,b\n1\n": "wrong number of fields",
	} {
		if _, err := ParseRows([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	if rows, err := ParseRows([]byte("a,b\n1,\"x, y\"\n")); err != nil || len(rows) != 1 || rows[0]["a"] != "1" ||
		rows[0]["b"] != "x, y" {
		t.Errorf("rows %v, error %v", rows, err)
	}
}
