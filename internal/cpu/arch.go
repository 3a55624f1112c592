package cpu

import "runtime"

// Arch names what the program was compiled for as far as it decides the bits of
// floating-point results: the architecture, and for amd64 whether the compiler
// fuses x*y + z, which it does from GOAMD64=v3 on and which rounds once, not twice.
func Arch() string { return runtime.GOARCH + fused }
