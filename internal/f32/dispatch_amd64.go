//go:build !noasm

package f32

import (
	"unsafe"

	"proactivedp/internal/cpu"
)

var sets = [...]kernelSet{
	cpu.Portable: portable,
	cpu.AVX2:     avx2.ofAnyLength(),
	cpu.AVX512:   avx512,
	cpu.AMX:      avx512,
}

// classFor returns the class of the kernels of a tile, of pairs or not. Only AVX-512 has kernels of
// pairs.
func classFor(pairs bool) cpu.Class {
	if pairs && !pairedKernels() {
		return cpu.Portable
	}
	return class
}

// pairedKernels reports whether there are kernels of pairs of bfloat16.
func pairedKernels() bool { return class >= cpu.AVX512 && cpu.HasBF16() }

func mulTile(t *Tile, terms []Term) {
	switch classFor(t.BF16) {
	case cpu.AVX512, cpu.AMX:
		p := Patch{Terms: &Terms{list: terms}, Cols: t.Cols}
		copy(p.ColB[:], t.ColB[:])
		copy(p.ColC[:], t.ColC[:])
		mulPatches512(t, &p, 1)
	case cpu.AVX2:
		for column := range t.Cols {
			tileColumnAVX2(t, terms, column)
		}
	default:
		tilePortable(t, terms)
	}
}

func mulPatches512(t *Tile, p *Patch, n int) {
	if t.BF16 {
		tilesBF16(t, p, n)
	} else {
		tilesAVX512(t, p, n)
	}
}

func mulPatches(t *Tile, patches []Patch) {
	switch classFor(t.BF16) {
	case cpu.AVX512, cpu.AMX:
		if len(patches) > 0 {
			mulPatches512(t, &patches[0], len(patches))
		}
	default:
		eachTile(t, patches)
	}
}

// mulFullTile does the same as mulTile, for the largest tile and consecutive terms.
func mulFullTile(t *Tile, terms []Term) {
	switch classFor(t.BF16) {
	case cpu.AVX512, cpu.AMX:
		if t.BF16 {
			fullTileBF16(t, len(terms))
		} else {
			fullTileAVX512(t, len(terms))
		}
	default:
		mulTile(t, terms)
	}
}

func mulRuns(t *Tile, terms []Term, run int) {
	switch classFor(t.BF16) {
	case cpu.AVX512, cpu.AMX:
		if t.BF16 && len(terms) > 0 {
			tileRunsBF16(t, terms, run, &t.Factors[0])
		} else {
			tileRunsAVX512(t, terms, run)
		}
	case cpu.AVX2:
		for column := range t.Cols {
			tileColumnRunsAVX2(t, terms, run, column)
		}
	default:
		runsPortable(t, terms, run)
	}
}

func mulWide(t *Tile, terms []Term, lengths []int, wide []float64, wideRow int) {
	switch classFor(t.BF16) {
	case cpu.AVX512, cpu.AMX:
		if t.BF16 {
			tileWideBF16(t, terms, lengths, wide, wideRow)
		} else {
			tileWideAVX512(t, terms, lengths, wide, wideRow)
		}
	case cpu.AVX2:
		for column := range t.Cols {
			tileColumnWideAVX2(t, terms, lengths, wide, wideRow, column)
		}
	default:
		widePortable(t, terms, lengths, wide, wideRow)
	}
}

// laneTileRows is the number of rows that laneTileRowsAVX2 computes at a time, for each number of
// columns.
var laneTileRows = [LaneTileCols + 1]int{1: 5, 2: 5, 3: 3, 4: 2, 5: 2}

func mulLaneTile(t *LaneTile, terms []Term) {
	switch classFor(t.BF16) {
	case cpu.AVX512, cpu.AMX:
		mulLanes512(t, &Patch{Terms: &Terms{list: terms}, Cols: t.Cols, ColB: t.ColB, ColC: t.ColC}, 1)
	case cpu.AVX2:
		for row := 0; row < t.Rows; row += laneTileRows[t.Cols] {
			for lane := 0; lane < Lanes; lane += 8 {
				laneTileRowsAVX2(t, terms, row, lane)
			}
		}
	default:
		laneTilePortable(t, terms)
	}
}

func mulLanes512(t *LaneTile, p *Patch, n int) {
	if t.BF16 {
		laneTilesBF16(t, p, n)
	} else {
		laneTilesAVX512(t, p, n)
	}
}

func mulLanePatches(t *LaneTile, patches []Patch) {
	switch classFor(t.BF16) {
	case cpu.AVX512, cpu.AMX:
		if len(patches) > 0 {
			mulLanes512(t, &patches[0], len(patches))
		}
	default:
		eachLaneTile(t, patches)
	}
}

func mulOdd(t *LaneTile, patches []Patch) {
	switch class {
	case cpu.AVX512, cpu.AMX:
		if len(patches) > 0 {
			oddTilesAVX512(t, &patches[0], len(patches))
		}
	default:
		oddPortable(t, patches)
	}
}

func transpose(dst []float32, dstRow int, src []float32, srcRow int) {
	if class >= cpu.AVX2 {
		transposeAVX2(dst, dstRow, src, srcRow)
	} else {
		transposePortable(dst, dstRow, src, srcRow)
	}
}

func splitPairs(dst []Pair, even, odd []float32, row, pairs, parts int) {
	if class == cpu.AMX {
		splitPairsAMX(dst, even, odd, row, pairs, parts)
	} else {
		splitPairsPortable(dst, even, odd, row, pairs, parts)
	}
}

func transposePairs(dst []Pair, dstRow int, src []Pair, srcRow int) {
	if class == cpu.AMX { // Transpose moves 32 bits, whatever they mean
		transposeAVX2(floats(dst), dstRow, floats(src), srcRow)
	} else {
		transposePairsPortable(dst, dstRow, src, srcRow)
	}
}

// floats returns the memory of pairs as floats.
func floats(p []Pair) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(p))), len(p))
}

func mulSplit(t *SplitTile, terms []Term) {
	if class == cpu.AMX {
		mulSplitAMX(t, terms)
	} else {
		mulSplitPortable(t, terms)
	}
}

func addRuns(t *SplitTile, runs []int, wide []float64) {
	if class == cpu.AMX {
		addRunsAMX(t, runs, wide)
	} else {
		addRunsPortable(t, runs, wide)
	}
}

func addWindows(t *WindowTile) {
	if class == cpu.AMX {
		addWindowsAMX(t)
	} else {
		addWindowsPortable(t)
	}
}

func roundBF16(x []float32) {
	if pairedKernels() {
		roundToBF16(x)
	} else {
		roundBF16Portable(x)
	}
}

func pairVectors(dst []float32, dstStep int, even, odd []float32, step, n int) {
	if pairedKernels() {
		pairBF16(dst, dstStep, even, odd, step, n)
	} else {
		pairVectorsPortable(dst, dstStep, even, odd, step, n)
	}
}

func pairRow(dst, src []float32) {
	if pairedKernels() {
		pairRowBF16(dst, src)
	} else {
		pairRowPortable(dst, src)
	}
}
