//go:build !linux || !amd64 || noasm

package cpu

func hasTiles() bool { return false }
