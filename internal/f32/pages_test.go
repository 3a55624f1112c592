//go:build linux || darwin

package f32

import (
	"fmt"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"proactivedp/rng"
)

// pages gives memory between pages that must not be touched.
type pages struct {
	t     *testing.T
	atEnd bool // what it gives ends where such a page begins, else it begins where one ends
}

// bytes returns n of them.
func (p pages) bytes(n int) []byte {
	size := syscall.Getpagesize()
	inside := max(1, (n+size-1)/size) * size
	all, err := syscall.Mmap(-1, 0, inside+2*size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { syscall.Munmap(all) })
	for _, guard := range [][]byte{all[:size], all[size+inside:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			p.t.Fatal(err)
		}
	}
	if p.atEnd {
		return all[size+inside-n : size+inside : size+inside]
	}
	return all[size : size+n : size+n]
}

func inPages[T float32 | float64 | int32](p pages, n int) []T {
	b := p.bytes(n * int(unsafe.Sizeof(T(0))))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func (p pages) floats(n int) []float32 { return inPages[float32](p, n) }
func (p pages) wides(n int) []float64  { return inPages[float64](p, n) }

// touching are calls of every kernel, on memory that they fill.
func (p pages) touching(n int) map[string]func() {
	f, w := p.floats, p.wides
	whole := n * Lanes
	plane, big := Plane{1, n, whole}, 2*whole
	rows := inPages[int32](p, n)
	for i := range rows {
		rows[i] = int32(n - 1 - i)
	}
	factors := (*[Lanes]float32)(f(Lanes))
	return map[string]func(){
		"Relu":        func() { Relu(f(whole)) },
		"ReluBack":    func() { ReluBack(f(whole), f(whole)) },
		"Tanh":        func() { Tanh(f(whole)) },
		"TanhBack":    func() { TanhBack(f(whole), f(whole)) },
		"Exp":         func() { Exp(f(whole)) },
		"MaxPool":     func() { MaxPool(f(whole), plane, f(2*big), big, inPages[int32](p, whole)) },
		"MaxPoolBack": func() { MaxPoolBack(f(2*big), big, f(whole), plane, inPages[int32](p, whole)) },
		"MaxPoolHalves": func() {
			MaxPoolHalves(f(2*whole), inPages[int32](p, 2*whole/Lanes), f(whole), plane, inPages[int32](p, whole))
		},
		"AvgPool":        func() { AvgPool(f(whole), plane, f(2*big), big) },
		"AvgPoolBack":    func() { AvgPoolBack(f(2*big), big, f(whole), plane) },
		"LaneSum":        func() { LaneSum((*[LaneSums]float32)(f(LaneSums)), f(whole)) },
		"LaneSumSquares": func() { LaneSumSquares((*[Lanes]float64)(w(Lanes)), f(whole)) },
		"LaneScale":      func() { LaneScale(f(whole), Lanes, factors, f(whole)) },
		"Spread":         func() { Spread(f(whole), whole, Lanes, f(whole), plane) },
		"FromBytes":      func() { FromBytes(f(whole+3), p.bytes(whole+3), 1, 0) },
		"Axpy":           func() { Axpy(2, f(whole+3), f(whole+3)) },
		"SumSquares":     func() { SumSquares(f(whole + 3)) },
		"LaneAxpyWide":   func() { LaneAxpyWide(factors, f(whole), w(whole/2)) },
		"AxpyWide":       func() { AxpyWide(2, f(whole+3), w(whole+3)) },
		"AddNarrow":      func() { AddNarrow(f(whole+3), w(whole+3)) },
		"ExpWide":        func() { ExpWide(w(whole)) },
		"RowDots":        func() { RowDots(w(n), f(n*whole), whole, rows, w(whole)) },
		"AddRows":        func() { AddRows(w(whole), f(n*whole), whole, rows, w(n), 1.5*(1<<52)) },
		"addNormals": func() {
			bits := p.bytes(8 * whole)
			for i := range bits {
				bits[i] = 100 // no radius is rare
			}
			if done := addNormals(f(2*whole), bits, 1); done != n {
				p.t.Errorf("%d groups of %d done", done, n)
			}
		},
		"AddNormal": func() { AddNormal(f(2*whole+3), 1, rng.New(1).Stream(rng.Noise, 0, n)) },
		"Transpose": func() { Transpose(f(15*(Lanes+n)+Lanes), Lanes+n, f(15*(Lanes+1)+Lanes), Lanes+1) },
	}
}

// tiles are calls of the kernels of contractions, of every shape.
func (p pages) tiles(n int) map[string]func() {
	f, calls := p.floats, map[string]func(){}
	list := make([]Term, n)
	for i := range list {
		list[i] = Term{int32(i), int32(i * Lanes)}
	}
	terms := NewTerms(list)
	for rows := 1; rows <= TileRows; rows++ {
		for cols := 1; cols <= TileCols; cols++ {
			tile := Tile{Rows: rows, Cols: cols, RowA: n, RowC: cols * Lanes, A: f(rows * n),
				B: f((cols + n - 1) * Lanes), C: f(rows * cols * Lanes)}
			for j := range cols {
				tile.ColB[j], tile.ColC[j] = j*Lanes, j*Lanes
			}
			bias := tile
			bias.Bias = f(rows)
			wide := p.wides(rows * cols * Lanes)
			calls[fmt.Sprintf("Mul, %d×%d", rows, cols)] = func() { tile.Mul(terms); bias.Mul(terms) }
			calls[fmt.Sprintf("MulRuns, %d×%d", rows, cols)] = func() { tile.MulRuns(terms, n) }
			calls[fmt.Sprintf("MulWide, %d×%d", rows, cols)] = func() {
				tile.MulWide(terms, []int{n}, wide, cols*Lanes)
			}
			calls[fmt.Sprintf("AddWide, %d×%d", rows, cols)] = func() {
				AddWide(p.wides(rows*cols*Lanes), cols*Lanes, f((rows-1)*tileFloats+cols*Lanes), rows, cols)
				addTile(f(rows*cols*Lanes), cols*Lanes, p.wides((rows-1)*tileFloats+cols*Lanes), rows, cols*Lanes)
			}
		}
	}
	lanes := make([]Term, n)
	for i := range lanes {
		lanes[i] = Term{int32(i * Lanes), int32(i * Lanes)}
	}
	laneTerms := NewTerms(lanes)
	for rows := 1; rows <= LaneTileRows; rows++ {
		for cols := 1; cols <= LaneTileCols; cols++ {
			tile := LaneTile{Rows: rows, Cols: cols, RowA: n * Lanes, RowC: cols * Lanes, A: f(rows * n * Lanes),
				B: f((cols + n - 1) * Lanes), C: f(rows * cols * Lanes), Accumulate: n%2 == 1}
			for j := range cols {
				tile.ColB[j], tile.ColC[j] = j*Lanes, j*Lanes
			}
			calls[fmt.Sprintf("LaneTile, %d×%d", rows, cols)] = func() { tile.Mul(laneTerms) }
		}
	}
	return calls
}

// faults reports whether a call touches what it must not.
func faults(call func()) (fault any) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() }()
	call()
	return nil
}

// No kernel reads or writes beside what it is given, however little: there, the memory may
// be another's, or none.
func TestKernelsTouchNothingElse(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for _, atEnd := range []bool{false, true} {
			for n := 1; n <= 3; n++ {
				p := pages{t, atEnd}
				for _, calls := range []map[string]func(){p.touching(n), p.tiles(n)} {
					for name, call := range calls {
						if fault := faults(call); fault != nil {
							t.Errorf("%s of %d, at the end %v: %v", name, n, atEnd, fault)
						}
					}
				}
			}
		}
	})
	p := pages{t, true}
	x := p.floats(Lanes)
	if faults(func() { kernels.relu(unsafe.Slice(&x[0], 2*Lanes)) }) == nil {
		t.Error("a kernel that writes beyond its memory is not seen")
	}
}
