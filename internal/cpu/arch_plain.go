//go:build !amd64.v3

package cpu

const fused = ""
