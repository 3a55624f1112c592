package machines

import (
	"testing"

	"github.com/spf13/cobra"
)

// What asks a server finds the broker of this machine and the one run there, unless it is told others.
func TestFlagsOfOperators(t *testing.T) {
	var o operatorFlags
	cmd := &cobra.Command{}
	o.add(cmd)
	if o.at != "nats://127.0.0.1:4222" || o.run != "" {
		t.Errorf("without flags: at %q, run %q", o.at, o.run)
	}
	if err := cmd.ParseFlags([]string{"--at", "tls://server:1", "--run-id", "abc"}); err != nil {
		t.Fatal(err)
	}
	if o.at != "tls://server:1" || o.run != "abc" {
		t.Errorf("at %q, run %q", o.at, o.run)
	}
}
