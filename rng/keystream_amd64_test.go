//go:build !noasm

package rng

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// keyStreams are the kernels that this machine can run.
func keyStreams() map[string][2]kernel {
	all := map[string][2]kernel{}
	if hasKeyStream {
		all["AES"] = [2]kernel{keyStreamAES, keyHeadsAES}
	}
	if twoBlocks {
		all["VAES"] = [2]kernel{keyStreamVAES, keyHeadsVAES}
	}
	return all
}

// The operating system lists the same processor features that the package found.
func TestTwoBlocksAreTheSystems(t *testing.T) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, flags, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "flags" {
			if want := slices.Contains(strings.Fields(flags), "vaes"); twoBlocks != want {
				t.Errorf("AES of two blocks %v, of the system's flags %v", twoBlocks, want)
			}
			return
		}
	}
	t.Skip("the system lists no flags")
}
