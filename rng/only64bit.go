//go:build 386 || arm || mips || mipsle

package rng

// Counts of gradient computations, records and bytes are ints and exceed 2^31. On a platform whose
// int has 32 bits they would wrap around, and privacy statements would be silently wrong. So
// packages that depend on this one do not compile there.
const _ = proactivedp_needs_a_64_bit_platform_such_as_amd64_or_arm64
