package main

import (
	"bytes"
	"strings"
	"testing"
)

// The code as it is breaks nothing; the table has a row for each τ that makes a
// difference.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := table(&out, sizes[:1]); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var fields []string
	for _, line := range lines {
		fields = append(fields, strings.Join(strings.Fields(line)[:4], " "))
	}
	for i, want := range []string{"size τ states transitions", "2 × 2 0", "2 × 2 1", "all"} {
		if i >= len(fields) || !strings.HasPrefix(fields[i], want) {
			t.Fatalf("line %d of\n%s\nmust begin with %q", i, out.String(), want)
		}
	}
}
