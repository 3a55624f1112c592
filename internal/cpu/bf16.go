package cpu

import "golang.org/x/sys/cpu"

// HasBF16 reports whether the machine multiplies pairs of bfloat16 in vectors of 512 bits
// (AVX512-BF16). Of the classes, only AVX512 and those above it make use of this.
func HasBF16() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512BF16 }
