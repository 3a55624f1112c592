package lint

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// On a platform whose int has 32 bits counts would wrap around: the build says so,
// in one line, and nothing is built.
func TestPlatformsOf32BitsAreRefusedInOneLine(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for another platform")
	}
	for _, pkg := range []string{"cmd/proactivedp", "dp/pld", "sim"} {
		build := exec.Command("go", "build", "-o", os.DevNull, module+"/"+pkg)
		build.Env = append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		if err == nil {
			t.Errorf("%s: it was built", pkg)
		}
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "#") // the package of the lines below
		})
		if len(lines) != 1 || !strings.Contains(lines[0], "proactivedp_needs_a_64_bit_platform") {
			t.Errorf("%s: the build says\n%s\nwant one line that a platform of 64 bits is needed", pkg, out)
		}
	}
}

// The tag nobroker leaves the broker out of the program, and all that it is made of.
func TestTheBrokerCanBeLeftOut(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with another tag")
	}
	out, err := exec.Command("go", "list", "-deps", "-tags", "nobroker", module+"/cmd/proactivedp").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "nats-server") || !strings.Contains(string(out), "nats-io/nats.go") {
		t.Error("without a broker the program has nats-server, or no nats.go")
	}
}
