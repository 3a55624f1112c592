//go:build !noasm

package f32

import "proactivedp/internal/cpu"

var sets = [...]kernelSet{cpu.Portable: portable, cpu.NEON: neon.ofAnyLength()}

func mulTile(t *Tile, terms []Term) {
	if class != cpu.NEON || t.BF16 {
		tilePortable(t, terms)
		return
	}
	for column := range t.Cols {
		tileColumnNEON(t, terms, column)
	}
}

func mulPatches(t *Tile, patches []Patch) { eachTile(t, patches) }

func mulFullTile(t *Tile, terms []Term) { mulTile(t, terms) }

func mulRuns(t *Tile, terms []Term, run int) {
	if class != cpu.NEON || t.BF16 {
		runsPortable(t, terms, run)
		return
	}
	for column := range t.Cols {
		tileColumnRunsNEON(t, terms, run, column)
	}
}

func mulWide(t *Tile, terms []Term, lengths []int, wide []float64, wideRow int) {
	if class != cpu.NEON || t.BF16 {
		widePortable(t, terms, lengths, wide, wideRow)
		return
	}
	for column := range t.Cols {
		tileColumnWideNEON(t, terms, lengths, wide, wideRow, column)
	}
}

// neonLanes is the number of lanes that laneTileLanesNEON computes at a time.
const neonLanes = 4

func mulLaneTile(t *LaneTile, terms []Term) {
	if class != cpu.NEON || t.BF16 {
		laneTilePortable(t, terms)
		return
	}
	for lane := 0; lane < Lanes; lane += neonLanes {
		laneTileLanesNEON(t, terms, lane)
	}
}

func mulLanePatches(t *LaneTile, patches []Patch) { eachLaneTile(t, patches) }

func mulOdd(t *LaneTile, patches []Patch) { oddPortable(t, patches) }

func transpose(dst []float32, dstRow int, src []float32, srcRow int) {
	if class == cpu.NEON {
		transposeNEON(dst, dstRow, src, srcRow)
	} else {
		transposePortable(dst, dstRow, src, srcRow)
	}
}
