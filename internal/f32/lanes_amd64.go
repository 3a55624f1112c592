//go:build !noasm

package f32

import "proactivedp/internal/cpu"

var avx2 = kernelSet{
	relu: reluAVX2, reluBack: reluBackAVX2, tanh: tanhAVX2, tanhBack: tanhBackAVX2, exp: expAVX2,
	maxPool: maxPoolAVX2, maxPoolBack: maxPoolBackAVX2, maxPoolHalves: maxPoolHalvesPortable,
	avgPool: avgPoolAVX2, avgPoolBack: avgPoolBackAVX2,
	laneSumSquares: laneSumSquaresAVX2, laneSum: laneSumAVX2, laneScale: laneScaleAVX2,
	spread:    spreadAVX2,
	fromBytes: fromBytesAVX2, axpyTo: axpyToAVX2, sumSquares: sumSquaresAVX2,
	laneAxpyWide: laneAxpyWideAVX2, addNarrow: addNarrowAVX2, axpyWide: axpyWideAVX2,
	addWide: addWideAVX2, narrowTile: narrowTileAVX2,
	widenRow: widenRowAVX2, rowDots: rowDotsAVX2, addRows: addRowsAVX2, expWide: expWideAVX2,
	logisticSteps: logisticStepsAVX2,
}

var avx512 = kernelSet{
	relu: reluAVX512, reluBack: reluBackAVX512, tanh: tanhAVX512, tanhBack: tanhBackAVX512, exp: expAVX512,
	maxPool: maxPoolAVX512, maxPoolBack: maxPoolBackAVX512, maxPoolHalves: maxPoolHalvesAVX512,
	avgPool: avgPoolAVX512, avgPoolBack: avgPoolBackAVX512,
	laneSumSquares: laneSumSquaresAVX512, laneSum: laneSumAVX512, laneScale: laneScaleAVX512,
	spread:    spreadAVX512,
	fromBytes: fromBytesAVX512, axpyTo: axpyToAVX512, sumSquares: sumSquaresAVX512,
	laneAxpyWide: laneAxpyWideAVX512, addNarrow: addNarrowAVX512, axpyWide: axpyWideAVX512,
	addWide: addWideAVX512, narrowTile: narrowTileAVX512,
	widenRow: widenRowAVX512, rowDots: rowDotsAVX512, addRows: addRowsAVX512, expWide: expWideAVX512,
	logisticSteps: logisticStepsAVX512,
	oddTiles:      true,
}

// addNormals calls the kernel of addNormalsPortable for the class in use. It is a switch and not a
// field of kernelSet, so that its arguments do not escape.
func addNormals(x []float32, bits []byte, scale float32) int {
	switch class {
	case cpu.AVX512, cpu.AMX:
		return addNormalsAVX512(x, bits, scale)
	case cpu.AVX2:
		return addNormalsAVX2(x, bits, scale)
	}
	return addNormalsPortable(x, bits, scale)
}
