//go:build !noasm

package f32

import "proactivedp/internal/cpu"

func peakFMA(rounds int) (flops int) {
	if class == cpu.NEON {
		return peakFMANEON(rounds)
	}
	return peakFMAPortable(rounds)
}
