//go:build !noasm

package f32

import "proactivedp/internal/cpu"

var neon = kernelSet{
	relu: reluNEON, reluBack: reluBackNEON, tanh: tanhNEON, tanhBack: tanhBackNEON, exp: expNEON,
	maxPool: maxPoolNEON, maxPoolBack: maxPoolBackNEON, maxPoolHalves: maxPoolHalvesPortable,
	avgPool: avgPoolNEON, avgPoolBack: avgPoolBackNEON,
	laneSumSquares: laneSumSquaresNEON, laneSum: laneSumNEON, laneScale: laneScaleNEON,
	spread:    spreadNEON,
	fromBytes: fromBytesNEON, axpyTo: axpyToNEON, sumSquares: sumSquaresNEON,
	laneAxpyWide: laneAxpyWideNEON, addNarrow: addNarrowNEON, axpyWide: axpyWideNEON,
	addWide: addWideNEON, narrowTile: narrowTileNEON,
	widenRow: widenRowPortable, rowDots: rowDotsNEON, addRows: addRowsNEON, expWide: expWideNEON,
	logisticSteps: logisticStepsPortable,
}

// addNormals calls the kernel of addNormalsPortable for the class in use. As on amd64, it is not a
// field of kernelSet, so that its arguments do not escape.
func addNormals(x []float32, bits []byte, scale float32) int {
	if class == cpu.NEON {
		return addNormalsNEON(x, bits, scale)
	}
	return addNormalsPortable(x, bits, scale)
}
