//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

// hasKeyStream says whether keyStream can run: it needs AES on vectors.
var hasKeyStream = cpu.X86.HasAVX512VAES
