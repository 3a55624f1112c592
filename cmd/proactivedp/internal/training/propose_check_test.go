package training

import (
	"io"
	"slices"
	"strings"
	"testing"

	"proactivedp/cmd/proactivedp/internal/cli"
)

// What --check is of stands in its cases: every flag that says it is refused, none ignored.
func TestCheckRefusesWhatItWouldIgnore(t *testing.T) {
	for _, name := range slices.Concat([]string{"target-epsilon"}, givenFlags, cli.OwnFlagNames) {
		cmd := newPropose()
		cmd.SetArgs([]string{"--check", "--" + name + "=1", "--format", "gif"}) // of which no picture is made
		cmd.SetErr(io.Discard)
		cmd.SetOut(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "--"+name+" must not be given with --check") {
			t.Errorf("--%s: %v", name, err)
		}
	}
}
