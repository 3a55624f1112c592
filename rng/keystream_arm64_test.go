//go:build !noasm

package rng

// keyStreams are the kernels that this machine can run.
func keyStreams() map[string][2]kernel {
	if !hasKeyStream {
		return nil
	}
	return map[string][2]kernel{"NEON": {keyStream, keyHeads}}
}
