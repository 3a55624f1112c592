// Package cpu describes the machine on which a result was computed.
package cpu

import (
	"os"
	"runtime"
	"strings"
)

// Describe names the operating system, the architecture, the processor if the system reports its
// name, and the widest class of vector instructions.
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

// model reads the processor's name from /proc/cpuinfo of Linux.
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
