package cpu

import "runtime"

// Arch names the platform for which the program was compiled, as far as floating-point results depend on it: the
// architecture and, for amd64, whether the compiler fuses x*y + z, which rounds once instead of twice. The compiler
// does so from GOAMD64=v3 on.
func Arch() string { return runtime.GOARCH + fused }
