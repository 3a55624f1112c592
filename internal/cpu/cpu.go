// Package cpu says what machine a result was made on.
package cpu

import (
	"os"
	"runtime"
	"strings"
)

// Describe names the system, the architecture, the processor where the system
// tells its name, and the widest class of vector instructions it has.
func Describe() string {
	parts := []string{runtime.GOOS + "/" + runtime.GOARCH}
	if name := model(); name != "" {
		parts = append(parts, name)
	}
	switch Detect() {
	case NEON:
		parts = append(parts, "NEON")
	case AMX:
		parts = append(parts, "AMX")
	case AVX512:
		parts = append(parts, "AVX-512")
	case AVX2:
		parts = append(parts, "AVX2")
	}
	return strings.Join(parts, ", ")
}

// model reads the processor's name from where Linux keeps it.
func model() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(line, "model name"); found {
			_, name, _ = strings.Cut(name, ":")
			return strings.TrimSpace(name)
		}
	}
	return ""
}
