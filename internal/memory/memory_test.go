package memory

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/fstest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestKnownIsTheLeastLimit(t *testing.T) {
	machine := file("MemFree: 1 kB\nMemTotal:       24684084 kB\n")
	const gib = 1 << 30
	for name, c := range map[string]struct {
		files fstest.MapFS
		goMax int64
		want  Limit
	}{
		"nothing": {fstest.MapFS{}, math.MaxInt64, Limit{}},
		"machine": {fstest.MapFS{"proc/meminfo": machine}, math.MaxInt64, Limit{24684084 << 10,
			"the machine's memory"}},
		"GOMEMLIMIT": {fstest.MapFS{"proc/meminfo": machine}, gib, Limit{gib, "GOMEMLIMIT"}},
		"version 2": {fstest.MapFS{
			"proc/meminfo": machine, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("2147483648\n"),
		}, math.MaxInt64, Limit{2 * gib, "the limit of the control group"}},
		"version 1": {fstest.MapFS{
			"proc/meminfo": machine, "proc/self/cgroup": file("5:devices:/\n4:memory:/only/the/host\n0::/\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("1073741824\n"),
		}, math.MaxInt64, Limit{gib, "the limit of the control group"}},
		"version 1, none": {fstest.MapFS{
			"proc/self/cgroup": file("4:cpu,memory:/x"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("9223372036854771712\n"),
		}, math.MaxInt64, Limit{}},
		"nonsense": {fstest.MapFS{
			"proc/meminfo":             file("MemTotal: 99999999999999999999 kB\nMemTotal"),
			"proc/self/cgroup":         file("x\n::\n0::\n"),
			"sys/fs/cgroup/memory.max": file("-1"),
		}, math.MaxInt64, Limit{}},
	} {
		if got := known(c.files, c.goMax); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestCheckCountsWhatIsInUse(t *testing.T) {
	if err := (Limit{}).Check(math.MaxInt64); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	limit := Limit{taken() + 1<<30, "a test"}
	if err := limit.Check(1 << 20); err != nil {
		t.Errorf("what fits: %v", err)
	}
	if err := limit.Check(2 << 30); !errors.Is(err, ErrTooLittle) ||
		!strings.Contains(err.Error(), "about 2048 MiB are needed") ||
		!strings.Contains(err.Error(), "(a test)") {
		t.Errorf("what does not fit: %v", err)
	}
	if Given(5).Bytes != 5 || Given(0) != Known() {
		t.Error("a limit given does not go before the known one")
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"512MiB": 512 << 20, "1.5GiB": 3 << 29, "1B": 1, "2TiB": 2 << 40, "64KiB": 64 << 10, "1e3MiB": 1000 << 20,
	} {
		if got, err := Parse(text); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "MiB", "-1GiB", "0B", "NaNMiB", "InfGiB", "1e99GiB", "5GB", "5 MB"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}
