//go:build 386 || arm || mips || mipsle

package only64bit

const _ = proactivedp_needs_a_64_bit_platform_such_as_amd64_or_arm64
