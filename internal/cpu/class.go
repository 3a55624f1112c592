package cpu

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/cpu"
)

// Class is a set of vector instructions for which there are kernels. An amd64 machine that has one class also has the
// amd64 classes before it in the list. An arm64 machine has NEON, and every machine has Portable.
type Class int

const (
	Portable Class = iota // only code of the Go compiler
	AVX2                  // AVX2 and FMA, vectors of 256 bits
	AVX512                // also AVX-512 F, BW, DQ and VL, vectors of 512 bits
	AMX                   // also AMX with bfloat16, matrices of 16×16
	NEON                  // Advanced SIMD of arm64, vectors of 128 bits
)

var classes = [...]string{Portable: "portable", AVX2: "avx2", AVX512: "avx512", AMX: "amx", NEON: "neon"}

func (c Class) String() string {
	if c < 0 || int(c) >= len(classes) {
		return fmt.Sprintf("Class(%d)", int(c))
	}
	return classes[c]
}

// ParseClass returns the class with the given name. It is the inverse of String.
func ParseClass(name string) (Class, error) {
	for c, n := range classes {
		if n == name {
			return Class(c), nil
		}
	}
	return Portable, fmt.Errorf("class = %q, must be portable, avx2, avx512, amx or neon", name)
}

// Detect returns the widest class that this machine and its operating system support.
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
