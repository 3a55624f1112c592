package cpu

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/cpu"
)

// Class is a class of vector instructions that kernels are written for. An amd64
// that has one has those below it; an arm64 has NEON, and every machine Portable.
type Class int

const (
	Portable Class = iota // only what the Go compiler makes
	AVX2                  // AVX2 and FMA, vectors of 256 bits
	AVX512                // AVX-512 F, BW, DQ and VL as well, vectors of 512 bits
	AMX                   // AMX with bfloat16 as well, matrices of 16×16
	NEON                  // Advanced SIMD of arm64, vectors of 128 bits
)

var classes = [...]string{Portable: "portable", AVX2: "avx2", AVX512: "avx512", AMX: "amx", NEON: "neon"}

func (c Class) String() string {
	if c < 0 || int(c) >= len(classes) {
		return fmt.Sprintf("Class(%d)", int(c))
	}
	return classes[c]
}

// ParseClass is the inverse of String.
func ParseClass(name string) (Class, error) {
	for c, n := range classes {
		if n == name {
			return Class(c), nil
		}
	}
	return Portable, fmt.Errorf("class = %q, must be portable, avx2, avx512, amx or neon", name)
}

// Detect returns the widest class that this machine and its system support. An arm64
// that Go runs on has NEON.
func Detect() Class {
	x := &cpu.X86
	switch {
	case runtime.GOARCH == "arm64":
		return NEON
	case !x.HasAVX2 || !x.HasFMA:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	case !hasTiles():
		return AVX512
	}
	return AMX
}
