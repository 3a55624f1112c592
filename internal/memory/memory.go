// Package memory finds out how much memory the process may use. Work that needs more can then be refused before it
// begins, instead of being killed in the middle.
package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// ErrTooLittle is the error, usually wrapped, for work that needs more memory than the process may use.
var ErrTooLittle = errors.New("not enough memory")

// Limit is the largest amount of memory that the process may use, with the source of this limit.
type Limit struct {
	Bytes int64 // 0 if no limit is known
	By    string
}

// Known returns the smallest of the machine's memory, the limits of the process's control groups, and GOMEMLIMIT. The
// first two are known only on Linux.
func Known() Limit {
	return known(os.DirFS("/"), debug.SetMemoryLimit(-1))
}

// known does the work of Known, with the file system root and the value goLimit of GOMEMLIMIT.
func known(root fs.FS, goLimit int64) Limit {
	var least Limit
	take := func(n int64, by string) {
		if n > 0 && n < math.MaxInt64>>1 && (least.Bytes == 0 || n < least.Bytes) {
			least = Limit{n, by}
		}
	}
	take(goLimit, "GOMEMLIMIT")
	for line := range strings.SplitSeq(read(root, "proc/meminfo"), "\n") {
		if kib, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(kib, "kB")), 10, 64)
			if err == nil && n < math.MaxInt64>>10 {
				take(n<<10, "the machine's memory")
			}
		}
	}
	// A line is number:controllers:path. In version 2 the controllers are empty.
	for line := range strings.SplitSeq(read(root, "proc/self/cgroup"), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) < 3 {
			continue
		}
		base, file := "", ""
		switch {
		case parts[1] == "":
			base, file = "sys/fs/cgroup", "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// The limits of the enclosing groups count too. In a container, the path may be one that
		// exists only on the host.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			n, err := strconv.ParseInt(strings.TrimSpace(read(root, path.Join(base, group, file))), 10, 64)
			if err == nil {
				take(n, "the limit of the control group")
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// maxFile is the largest part of a file of the kernel that is read, in bytes.
const maxFile = 1 << 20

// read returns the beginning of a file, or "" if it does not exist.
func read(root fs.FS, name string) string {
	f, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(text)
}

// Given returns a limit of n bytes, as a user gave it, or Known() if n is 0.
func Given(n int64) Limit {
	if n > 0 {
		return Limit{n, "the given limit"}
	}
	return Known()
}

// Left returns how many more bytes the process may use than it uses now. It may be negative. Without a limit it is
// the largest int64.
func (l Limit) Left() int64 {
	if l.Bytes == 0 {
		return math.MaxInt64
	}
	return l.Bytes - taken()
}

// taken returns the number of bytes that the process has from the operating system and uses.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// Check returns an error that wraps ErrTooLittle if the process may not use need bytes in addition to what it uses
// now.
func (l Limit) Check(need int64) error {
	if need <= l.Left() {
		return nil
	}
	return fmt.Errorf("%w: about %s are needed in addition to the %s in use, the limit is %s (%s)",
		ErrTooLittle, Text(need), Text(taken()), Text(l.Bytes), l.By)
}

// Text returns a number of bytes as text, such as 512 MiB.
func Text(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.4g GiB", float64(n)/(1<<30))
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	default:
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	}
}

// units are the units that Parse accepts.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}}

// Parse reads a number of bytes such as 512MiB or 1.5GiB: a positive number followed by B, KiB,
// MiB, GiB or TiB.
func Parse(text string) (int64, error) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(digits, 64)
		if n := x * float64(u.bytes); err == nil && n >= 1 && n <= 1<<60 {
			return int64(n), nil
		}
		break
	}
	return 0, fmt.Errorf("%q, must be a size such as 512MiB or 1.5GiB, from 1B to 1048576TiB", text)
}
