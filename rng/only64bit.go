//go:build 386 || arm || mips || mipsle

package rng

// Counts of gradient computations, records and bytes go beyond 2^31 and are ints. Where an int has
// 32 bits they would wrap around, and privacy statements would be silently wrong. So nothing that
// rests on this package compiles there.
const _ = proactivedp_needs_a_64_bit_platform_such_as_amd64_or_arm64
