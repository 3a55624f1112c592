//go:build !amd64 || noasm

package f32

import "proactivedp/internal/cpu"

var sets = [...]kernelSet{cpu.Portable: portable}

func mulTile(t *Tile, terms []Term) { tilePortable(t, terms) }

func mulLaneTile(t *LaneTile, terms []Term) { laneTilePortable(t, terms) }

func transpose(dst []float32, dstRow int, src []float32, srcRow int) {
	transposePortable(dst, dstRow, src, srcRow)
}

func peakFMA(rounds int) (flops int) { return peakFMAPortable(rounds) }
