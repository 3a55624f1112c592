//go:build !noasm

package f32

import "proactivedp/internal/cpu"

func peakFMA(rounds int) (flops int) {
	switch class {
	case cpu.AVX512, cpu.AMX:
		return peakFMAAVX512(rounds)
	case cpu.AVX2:
		return peakFMAAVX2(rounds)
	}
	return peakFMAPortable(rounds)
}
