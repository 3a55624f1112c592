package cpu

import "golang.org/x/sys/cpu"

// HasBF16 reports whether the machine has AVX512-BF16: instructions that multiply pairs of bfloat16 in vectors of 512
// bits. Only the classes AVX512 and AMX use it.
func HasBF16() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512BF16 }
