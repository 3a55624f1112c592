//go:build (!amd64 && !arm64) || noasm

package f32

import "proactivedp/internal/cpu"

var sets = [...]kernelSet{cpu.Portable: portable}

func mulTile(t *Tile, terms []Term) { tilePortable(t, terms) }

func mulPatches(t *Tile, patches []Patch) { eachTile(t, patches) }

func mulFullTile(t *Tile, terms []Term) { mulTile(t, terms) }

func mulRuns(t *Tile, terms []Term, run int) { runsPortable(t, terms, run) }

func mulWide(t *Tile, terms []Term, lengths []int, wide []float64, wideRow int) {
	widePortable(t, terms, lengths, wide, wideRow)
}

func prefetch[T float32 | float64]([]T, int, int, int) {}

func mulLaneTile(t *LaneTile, terms []Term) { laneTilePortable(t, terms) }

func mulLanePatches(t *LaneTile, patches []Patch) { eachLaneTile(t, patches) }

func mulOdd(t *LaneTile, patches []Patch) { oddPortable(t, patches) }

func transpose(dst []float32, dstRow int, src []float32, srcRow int) {
	transposePortable(dst, dstRow, src, srcRow)
}
