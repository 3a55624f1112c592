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

// addNormals is chosen by a switch over the class, as on amd64, so that its arguments do not
// escape.
func addNormals(x []float32, bits []byte, scale float32) int {
	if class == cpu.NEON {
		return addNormalsNEON(x, bits, scale)
	}
	return addNormalsPortable(x, bits, scale)
}
