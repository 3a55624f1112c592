//go:build !amd64 || noasm

package f32

func splitPairs(dst []Pair, even, odd []float32, row, pairs, parts int) {
	splitPairsPortable(dst, even, odd, row, pairs, parts)
}

func transposePairs(dst []Pair, dstRow int, src []Pair, srcRow int) {
	transposePairsPortable(dst, dstRow, src, srcRow)
}

func mulSplit(t *SplitTile, terms []Term) { mulSplitPortable(t, terms) }

func addRuns(t *SplitTile, runs []int, wide []float64) { addRunsPortable(t, runs, wide) }

func addWindows(t *WindowTile) { addWindowsPortable(t) }

func pairedKernels() bool { return false }

func roundBF16(x []float32) { roundBF16Portable(x) }

func pairVectors(dst []float32, dstStep int, even, odd []float32, step, n int) {
	pairVectorsPortable(dst, dstStep, even, odd, step, n)
}

func pairRow(dst, src []float32) { pairRowPortable(dst, src) }
