package f32

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"proactivedp/internal/cpu"
)

// craftedFloats are numbers of all sizes, some subnormal, zeros of both signs, infinities
// and NaNs among them.
func craftedFloats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(8))*12-64))
		if r.IntN(6) == 0 {
			x[i] = math.Float32frombits(r.Uint32() & 0x807fffff)
		}
		if r.IntN(500) == 0 {
			x[i] = []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)),
				float32(math.NaN()), math.MaxFloat32}[r.IntN(6)]
		}
	}
	return x
}

// inOrder returns start and the products of terms added to it in their order, each rounded
// once.
func inOrder(start float32, terms []Term, product func(Term) (a, b float32)) float32 {
	for _, x := range terms {
		a, b := product(x)
		start = multiplyAdd(a, b, start)
	}
	return start
}

// Every class but the portable one adds the terms in their order, each product and sum
// rounded once, whatever the shape, the start and the numbers: so all give the same bits,
// and what is proved of rounding, at nn.Rounding, holds for all.
func TestProductsAreRoundedOnceAndInOrder(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		if Kernels() == cpu.Portable {
			return
		}
		r := source(40)
		for rows := 1; rows <= TileRows; rows++ {
			for cols := 1; cols <= TileCols; cols++ {
				for _, n := range []int{0, 1, 2, 3, 30} {
					for start := range 3 {
						checkTileInOrder(t, r, rows, cols, n, start)
					}
				}
			}
		}
		for rows := 1; rows <= LaneTileRows; rows++ {
			for cols := 1; cols <= LaneTileCols; cols++ {
				for _, n := range []int{0, 1, 2, 3, 30} {
					checkLaneTileInOrder(t, r, rows, cols, n)
				}
			}
		}
	})
}

func checkTileInOrder(t *testing.T, r *rand.Rand, rows, cols, terms, start int) {
	t.Helper()
	tile, list := randomTile(r, rows, cols, terms)
	tile.A, tile.B = craftedFloats(r, len(tile.A)), craftedFloats(r, len(tile.B))
	if start == 2 {
		tile.Bias = craftedFloats(r, rows)
	}
	tile.Accumulate = start == 1
	tile.C = craftedFloats(r, (rows-1)*tile.RowC+maxColumn(tile.ColC[:cols])+Lanes)
	want := slices.Clone(tile.C)
	for m := range rows {
		for j := range cols {
			for l := range Lanes {
				to := &want[m*tile.RowC+tile.ColC[j]+l]
				switch start {
				case 0:
					*to = 0
				case 2:
					*to = tile.Bias[m]
				}
				*to = inOrder(*to, list, func(x Term) (a, b float32) {
					return tile.A[int(x.A)+m*tile.RowA], tile.B[int(x.B)+tile.ColB[j]+l]
				})
			}
		}
	}
	tile.Mul(NewTerms(list))
	sameEverywhere(t, fmt.Sprintf("%d×%d, %d terms, start %d", rows, cols, terms, start), tile.C, want)
}

func checkLaneTileInOrder(t *testing.T, r *rand.Rand, rows, cols, terms int) {
	t.Helper()
	shape, list := randomTile(r, rows, min(cols, TileCols), terms)
	tile := LaneTile{Rows: rows, Cols: cols, RowA: shape.RowA, RowC: LaneTileCols*Lanes + 3, Accumulate: terms%2 == 1}
	for j := range cols {
		tile.ColB[j], tile.ColC[j] = r.IntN(100), j*Lanes
	}
	tile.A, tile.B = craftedFloats(r, 200+rows*tile.RowA+Lanes), craftedFloats(r, 400+Lanes)
	tile.C = craftedFloats(r, rows*tile.RowC)
	want := slices.Clone(tile.C)
	for m := range rows {
		for j := range cols {
			for l := range Lanes {
				to := &want[m*tile.RowC+tile.ColC[j]+l]
				if !tile.Accumulate {
					*to = 0
				}
				*to = inOrder(*to, list, func(x Term) (a, b float32) {
					return tile.A[int(x.A)+m*tile.RowA+l], tile.B[int(x.B)+tile.ColB[j]+l]
				})
			}
		}
	}
	tile.Mul(NewTerms(list))
	sameEverywhere(t, fmt.Sprintf("lanes, %d×%d, %d terms", rows, cols, terms), tile.C, want)
}

func sameEverywhere(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i, w := range want {
		if !sameBits(got[i], w) {
			t.Fatalf("%s: place %d is %v (%#x), want %v (%#x)", what, i, got[i], math.Float32bits(got[i]), w,
				math.Float32bits(w))
		}
	}
}

// The assembly for arm64 keeps its hands off the registers that are the system's, the
// assembler's and Go's, and has no frame: so it is the same on Linux and Darwin.
func TestAssemblyForArm64LeavesRegistersAlone(t *testing.T) {
	files, err := filepath.Glob("*_arm64.s")
	if err != nil || len(files) != 4 {
		t.Fatalf("%v: %v, want four files", files, err)
	}
	forbidden := regexp.MustCompile(`\b(?:[Rxw](?:1[678]|2[6-9]|3\d)|RSP|g|LR)\b`)
	frame := regexp.MustCompile(`(?m)^TEXT .*$`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.FindAllString(string(text), 3); found != nil {
			t.Errorf("%s uses %v", name, found)
		}
		for _, head := range frame.FindAllString(string(text), -1) {
			if !regexp.MustCompile(`\(SB\), NOSPLIT, \$0-\d+$`).MatchString(head) {
				t.Errorf("%s: %s", name, head)
			}
		}
	}
	if !forbidden.MatchString("\tADD $64, R18\n") || forbidden.MatchString("\tADD $64, R15, F27\n") {
		t.Error("the pattern does not find what it shall")
	}
}
