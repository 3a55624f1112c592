//go:build (!amd64 && !arm64) || noasm

package f32

func peakFMA(rounds int) (flops int) { return peakFMAPortable(rounds) }
