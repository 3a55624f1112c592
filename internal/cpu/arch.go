package cpu

import "runtime"

// Arch names the platform for which the program was compiled, as far as it determines the bits of
// floating-point results: the architecture and, for amd64, whether the compiler fuses x*y + z. The
// compiler does so from GOAMD64=v3 on. A fused operation is rounded once instead of twice.
func Arch() string { return runtime.GOARCH + fused }
