package f32

import (
	"fmt"
	"testing"
)

// BenchmarkSplitTile counts the operations of the product in float32 that is made.
func BenchmarkSplitTile(b *testing.B) {
	if !Tiled() {
		b.Skip("no matrix tiles (AMX)")
	}
	for _, parts := range []int{TwoParts, ThreeParts} {
		for _, steps := range []int{4, 16, 36} {
			b.Run(fmt.Sprintf("parts=%d/terms=%d", parts, steps*TileTerms), func(b *testing.B) {
				n := steps * parts * TilePairs
				tile := SplitTile{A: make([]Pair, 2*n), B: make([]Pair, 8*n), C: make([]float32, 4*Lanes*Lanes),
					DownA: n, RightB: n, DownC: 2 * Lanes * Lanes, RightC: Lanes, RowC: 2 * Lanes, Parts: parts,
					Accumulate: true}
				var list []Term
				for s := range steps {
					list = append(list, Term{int32(s * parts * TilePairs), int32(s * parts * TilePairs)})
				}
				terms := NewTerms(list)
				whole := tile.B
				reportFlops(b, 4*2*32*32*float64(steps*TileTerms), func() {
					for i := 0; i < 8; i += 2 {
						tile.B = whole[i*n:]
						tile.Mul(terms)
					}
				})
			})
		}
	}
}

// BenchmarkWindowTile is of maps of 4×4 and 8×8.
func BenchmarkWindowTile(b *testing.B) {
	if !Tiled() {
		b.Skip("no matrix tiles (AMX)")
	}
	for _, parts := range []int{TwoParts, ThreeParts} {
		for _, steps := range []int{1, 4} {
			b.Run(fmt.Sprintf("parts=%d/steps=%d", parts, steps), func(b *testing.B) {
				w := WindowTile{Parts: parts, Steps: steps, Examples: 48, StepA: 3 * TilePairs, StepB: TilePairs,
					Window: [3]int{0, 64, 128}, ExampleA: 3 * steps * TilePairs, ExampleB: 3 * steps * TilePairs,
					LowB: (steps + 1) * TilePairs, Sum: make([]float32, WindowFloats), Work: new(WindowWork)}
				w.DownA = w.Examples * w.ExampleA
				w.A, w.B = make([]Pair, 2*w.DownA), make([]Pair, (w.Examples+3)*w.ExampleB+4*TilePairs)
				reportFlops(b, 6*2*16*16*16*float64(steps*w.Examples), func() {
					w.Add()
				})
			})
		}
	}
}

func BenchmarkSplitRows(b *testing.B) {
	if !Tiled() {
		b.Skip("no matrix tiles (AMX)")
	}
	src, dst := make([]float32, 16*512), make([]Pair, 16*3*TilePairs)
	b.SetBytes(16 * 512 * 4)
	for b.Loop() {
		SplitRows(dst, ThreeParts, src, 512, 512)
	}
}

func BenchmarkSplitColumns(b *testing.B) {
	if !Tiled() {
		b.Skip("no matrix tiles (AMX)")
	}
	src, dst := make([]float32, 16*512), make([]Pair, 16*3*TilePairs)
	b.SetBytes(16 * 512 * 4)
	for b.Loop() {
		SplitColumns(dst, ThreeParts, src, 16, 512)
	}
}
