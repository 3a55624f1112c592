package cpu

import "runtime"

// Arch names the platform for which the program was compiled, as far as it affects floating-point results:
// the architecture and, for amd64, whether the compiler computes x*y + z with one rounding instead of two
// (a fused multiply-add). It does so from GOAMD64=v3 on.
func Arch() string { return runtime.GOARCH + fused }
