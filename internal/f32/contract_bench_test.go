package f32

import (
	"fmt"
	"testing"

	"proactivedp/internal/cpu"
)

// reportFlops runs the benchmark of op and reports the speed in processor time. That of PeakFMA is its limit.
func reportFlops(b *testing.B, flopsPerOp float64, op func()) {
	start := cpu.Used()
	for b.Loop() {
		op()
	}
	b.ReportMetric(flopsPerOp*float64(b.N)/(cpu.Used()-start).Seconds()/1e9, "GFLOP/s")
}

// benchClasses runs a benchmark for every class.
func benchClasses(b *testing.B, bench func(b *testing.B)) {
	for _, c := range Classes() {
		b.Run("class="+c.String(), func(b *testing.B) {
			restore, err := Use(c)
			if err != nil {
				b.Fatal(err)
			}
			defer restore()
			bench(b)
		})
	}
}

func BenchmarkPeakFMA(b *testing.B) {
	benchClasses(b, func(b *testing.B) {
		reportFlops(b, PeakFMA(10_000), func() { PeakFMA(10_000) })
	})
}

func BenchmarkTile(b *testing.B) {
	benchClasses(b, func(b *testing.B) {
		for _, shape := range [][2]int{{6, 4}, {6, 2}, {3, 4}, {6, 1}} {
			for _, terms := range []int{25, 150} {
				b.Run(fmt.Sprintf("shape=%dx%d/terms=%d", shape[0], shape[1], terms), func(b *testing.B) {
					benchTile(b, shape[0], shape[1], terms)
				})
			}
		}
	})
}

// benchTile multiplies row-major weights with blocks of 16 lanes.
func benchTile(b *testing.B, rows, cols, n int) {
	list := make([]Term, n)
	for t := range list {
		list[t] = Term{int32(t), int32(t * Lanes)}
	}
	tile := Tile{Rows: rows, Cols: cols, RowA: n, RowC: Lanes, Bias: make([]float32, rows),
		A: make([]float32, rows*n), B: make([]float32, cols*n*Lanes), C: make([]float32, rows*cols*Lanes)}
	for j := range cols {
		tile.ColB[j], tile.ColC[j] = j*n*Lanes, j*rows*Lanes
	}
	terms := NewTerms(list)
	reportFlops(b, float64(2*rows*cols*n*Lanes), func() {
		tile.Mul(terms)
	})
}

func BenchmarkLaneTile(b *testing.B) {
	benchClasses(b, func(b *testing.B) {
		for _, shape := range [][2]int{{5, 5}, {3, 5}, {1, 5}} {
			for _, n := range []int{25, 100} {
				b.Run(fmt.Sprintf("shape=%dx%d/terms=%d", shape[0], shape[1], n), func(b *testing.B) {
					rows, cols := shape[0], shape[1]
					list := make([]Term, n)
					for t := range list {
						list[t] = Term{int32(t * Lanes), int32(t * Lanes)}
					}
					tile := LaneTile{Rows: rows, Cols: cols, RowA: n * Lanes, RowC: cols * Lanes,
						A: make([]float32, rows*n*Lanes), B: make([]float32, (n+cols)*Lanes), C: make([]float32,
							rows*cols*Lanes)}
					for j := range cols {
						tile.ColB[j], tile.ColC[j] = j*Lanes, j*Lanes
					}
					terms := NewTerms(list)
					reportFlops(b, float64(2*rows*cols*n*Lanes), func() {
						tile.Mul(terms)
					})
				})
			}
		}
	})
}

func BenchmarkTranspose(b *testing.B) {
	benchClasses(b, func(b *testing.B) {
		src, dst := make([]float32, 16*400), make([]float32, 256)
		b.SetBytes(256 * 4)
		for b.Loop() {
			Transpose(dst, 16, src, 400)
		}
	})
}

func BenchmarkProductOfMatrices(b *testing.B) {
	benchClasses(b, func(b *testing.B) {
		for _, n := range []int{64, 256, 1024} {
			b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
				x, y, z := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
				var s ProductScratch
				reportFlops(b, 2*float64(n)*float64(n)*float64(n), func() {
					gemm(false, n, n, n, x, n, y, n, z, n, false, &s)
				})
			})
		}
	})
}

// BenchmarkProduct runs dense layers: LeNet's first and AlexNet's second, the
// latter's weights as they lie and transposed.
func BenchmarkProduct(b *testing.B) {
	benchClasses(b, func(b *testing.B) {
		for _, c := range []struct {
			m, k, blocks int
			transposed   bool
		}{{120, 400, 4, false}, {400, 120, 4, true}, {4096, 4096, 16, false}, {4096, 4096, 16, true}} {
			b.Run(fmt.Sprintf("m=%d/k=%d/blocks=%d/transposed=%v", c.m, c.k, c.blocks, c.transposed),
				func(b *testing.B) {
					if Kernels() == cpu.Portable && c.m > 1000 {
						b.Skip("takes seconds")
					}
					p := Product{M: c.m, N: c.blocks * Lanes, K: c.k,
						A: make([]float32, c.m*c.k), RowA: c.k, ColA: 1,
						B: make([]float32, c.k*c.blocks*Lanes), RowB: Lanes, BlockB: c.k * Lanes,
						C: make([]float32, c.m*c.blocks*Lanes), RowC: Lanes, BlockC: c.m * Lanes}
					if c.transposed {
						p.RowA, p.ColA = 1, c.m
					}
					var s ProductScratch
					reportFlops(b, 2*float64(p.M)*float64(p.N)*float64(p.K), func() {
						p.Mul(&s)
					})
				})
		}
	})
}
