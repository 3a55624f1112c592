package f32

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// memory is all that a lane kernel may read and write: a guard zone lies around
// every slice, and everything is compared.
type memory struct {
	x, y, z, factors []float32
	which            []int32
	bytes            []byte
	sum              [LaneSums]float32
	squares          [Lanes]float64
	n                int // floats between the guard zones
}

// zone is the width of a guard zone, odd so that no kernel may count on
// alignment.
const zone = 37

// newMemory fills n floats a slice, now and then with a NaN, an infinity, a zero
// or a subnormal number if special.
func newMemory(n int, special bool) *memory {
	r := source(uint64(n))
	m := &memory{n: n, which: make([]int32, n+2*zone), bytes: make([]byte, n+2*zone)}
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-40, -3e38}
	for _, s := range []*[]float32{&m.x, &m.y, &m.z} {
		*s = make([]float32, n+2*zone)
		for i := range *s {
			(*s)[i] = float32(2 * r.NormFloat64())
			if special && r.IntN(8) == 0 {
				(*s)[i] = float32(odd[r.IntN(len(odd))])
			}
		}
	}
	m.factors = append([]float32{1, 0}, m.y[2:Lanes]...)
	for i := range m.which {
		m.which[i], m.bytes[i] = int32(r.IntN(4)), byte(r.Uint32())
	}
	for l := range m.sum {
		m.sum[l] = float32(r.NormFloat64())
	}
	for l := range m.squares {
		m.squares[l] = r.ExpFloat64()
	}
	return m
}

func (m *memory) in(s []float32) []float32 { return s[zone : zone+m.n] }

// differs says where two memories differ, or "".
func (m *memory) differs(other *memory) string {
	for name, pair := range map[string][2][]float32{"x": {m.x, other.x}, "y": {m.y, other.y}, "z": {m.z, other.z},
		"sum": {m.sum[:], other.sum[:]}} {
		for i, v := range pair[0] {
			if w := pair[1][i]; !sameBits(v, w) {
				return fmt.Sprintf("%s[%d] = %v, portable %v", name, i, v, w)
			}
		}
	}
	for l, v := range m.squares {
		if w := other.squares[l]; v != w && (v == v || w == w) {
			return fmt.Sprintf("squares[%d] = %v, portable %v", l, v, w)
		}
	}
	for i, v := range m.which {
		if w := other.which[i]; v != w {
			return fmt.Sprintf("which[%d] = %v, portable %v", i, v, w)
		}
	}
	return ""
}

// sameBits takes all NaNs for the same.
func sameBits(v, w float32) bool {
	return math.Float32bits(v) == math.Float32bits(w) || v != v && w != w
}

// checkTwins runs a kernel of the class in use and its portable twin on equal
// memories, which must then be equal still.
func checkTwins(t *testing.T, what string, n int, run func(k *kernelSet, m *memory)) {
	t.Helper()
	for _, special := range []bool{false, true} {
		got, want := newMemory(n, special), newMemory(n, special)
		run(&kernels, got)
		run(&portable, want)
		if diff := got.differs(want); diff != "" {
			t.Errorf("%s, special values %v: %s", what, special, diff)
		}
	}
}

// Every lane kernel is its portable twin, bit for bit, at every length, and
// touches nothing else.
func TestLaneKernels(t *testing.T) {
	cases := map[string]func(k *kernelSet, m *memory){
		"relu":           func(k *kernelSet, m *memory) { k.relu(m.in(m.x)) },
		"reluBack":       func(k *kernelSet, m *memory) { k.reluBack(m.in(m.x), m.in(m.y)) },
		"tanhBack":       func(k *kernelSet, m *memory) { k.tanhBack(m.in(m.x), m.in(m.y)) },
		"tanh":           func(k *kernelSet, m *memory) { k.tanh(m.in(m.x)) },
		"exp":            func(k *kernelSet, m *memory) { k.exp(m.in(m.x)) },
		"laneSumSquares": func(k *kernelSet, m *memory) { k.laneSumSquares(&m.squares, m.in(m.x)) },
		"laneSum":        func(k *kernelSet, m *memory) { k.laneSum(&m.sum, m.in(m.x)) },
		"axpyTo":         func(k *kernelSet, m *memory) { k.axpyTo(m.in(m.x), -0.37, m.in(m.x), m.in(m.y)) },
		"fromBytes": func(k *kernelSet, m *memory) {
			k.fromBytes(m.in(m.x), m.bytes[zone:zone+m.n], 0.0123, -0.4242)
		},
	}
	eachClass(t, func(t *testing.T) {
		for name, run := range cases {
			for vectors := range 70 {
				checkTwins(t, fmt.Sprintf("%s of %d vectors", name, vectors), vectors*Lanes, run)
			}
		}
		for vectors := range 40 {
			for extra := range 3 {
				row := Lanes + 13*extra
				checkTwins(t, fmt.Sprintf("laneScale of %d vectors to rows of %d", vectors, row), vectors*row,
					func(k *kernelSet, m *memory) {
						k.laneScale(m.in(m.y), row, (*[Lanes]float32)(m.factors), m.in(m.x)[:vectors*Lanes])
					})
			}
		}
		checkTwins(t, "laneScale in place", 7*Lanes, func(k *kernelSet, m *memory) {
			k.laneScale(m.in(m.x), Lanes, (*[Lanes]float32)(m.factors), m.in(m.x))
		})
	})
}

// The same for planes whose vectors are spread, and rows of vectors that are brought
// together.
func TestSpread(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for h := 1; h <= 5; h++ {
			for w := 1; w <= 5; w++ {
				for extra := range 3 {
					column, from := Lanes+13*extra, Plane{h, w, w*Lanes + 5*extra}
					row := w*column + 7*extra
					checkTwins(t, fmt.Sprintf("%d×%d vectors, %d apart", h, w, column), h*row+Lanes,
						func(k *kernelSet, m *memory) { k.spread(m.in(m.y), row, column, m.in(m.x), from) })
				}
			}
		}
	})
	dst := filled(2*48, 0)
	src := make([]float32, 64)
	for i := range src {
		src[i] = float32(i)
	}
	Spread(dst, 48, 20, src, Plane{2, 2, 32})
	for i, v := range dst {
		want := float32(0)
		if x := i % 48 % 20; i%48 < 40 && x < Lanes {
			want = float32(i/48*32 + i%48/20*Lanes + x)
		}
		if v != want {
			t.Fatalf("place %d is %v, want %v", i, v, want)
		}
	}
}

// The same for pooling, over planes of odd shapes inside borders.
func TestPooling(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for h := 1; h <= 4; h++ {
			for w := 1; w <= 5; w++ {
				for border := range 3 {
					p, big := Plane{h, w, w*Lanes + 5*border}, 2*w*Lanes+11*border
					name := fmt.Sprintf("%d×%d with border %d", h, w, border)
					n := 2*h*big + h*p.Row
					checkTwins(t, "maxPool "+name, n, func(k *kernelSet, m *memory) {
						k.maxPool(m.in(m.y), p, m.in(m.x), big, m.which[zone:])
					})
					checkTwins(t, "maxPoolBack "+name, n, func(k *kernelSet, m *memory) {
						k.maxPoolBack(m.in(m.y), big, m.in(m.x), p, m.which[zone:])
					})
					checkTwins(t, "maxPoolHalves "+name, n, func(k *kernelSet, m *memory) {
						k.maxPoolHalves(m.in(m.y), m.which[zone+h*w*Lanes:], m.in(m.x), p, m.which[zone:])
					})
					checkTwins(t, "avgPool "+name, n,
						func(k *kernelSet, m *memory) { k.avgPool(m.in(m.y), p, m.in(m.x), big) })
					checkTwins(t, "avgPoolBack "+name, n,
						func(k *kernelSet, m *memory) { k.avgPoolBack(m.in(m.y), big, m.in(m.x), p) })
				}
			}
		}
	})
}

// A NaN at any place of a window comes through MaxPool, and an infinity wins.
func TestMaxPoolSpecialValues(t *testing.T) {
	eachClass(t, func(t *testing.T) {
		for at := range 4 {
			for _, v := range []float64{math.NaN(), math.Inf(1)} {
				src, dst, which := fill(4*Lanes, 1), make([]float32, Lanes), make([]int32, Lanes)
				src[at*Lanes+3] = float32(v)
				MaxPool(dst, Plane{1, 1, Lanes}, src, 2*Lanes, which)
				if !sameBits(dst[3], float32(v)) {
					t.Errorf("%v at place %d gives %v", v, at, dst[3])
				}
				if !math.IsNaN(v) && which[3] != int32(at) {
					t.Errorf("Inf at place %d: which = %d", at, which[3])
				}
			}
		}
	})
}

// The sum of one window's gradients is the pixel's: no part is lost or doubled.
func TestPoolingBackKeepsTheSum(t *testing.T) {
	p, which := Plane{3, 2, 2 * Lanes}, make([]int32, 6*Lanes)
	src, d, back := fill(24*Lanes, 1), fill(6*Lanes, 2), make([]float32, 24*Lanes)
	MaxPool(make([]float32, 6*Lanes), p, src, 4*Lanes, which)
	for name, run := range map[string]func(){
		"max": func() { MaxPoolBack(back, 4*Lanes, d, p, which) },
		"avg": func() { AvgPoolBack(back, 4*Lanes, d, p) },
	} {
		run()
		for y := range p.H {
			for x := range p.W {
				for l := range Lanes {
					at := (2*y*4+2*x)*Lanes + l
					sum := back[at] + back[at+Lanes] + back[at+4*Lanes] + back[at+5*Lanes]
					if want := d[(y*2+x)*Lanes+l]; math.Abs(float64(sum-want)) > 1e-6 {
						t.Fatalf("%s, window %d,%d, lane %d: %v, want %v", name, y, x, l, sum, want)
					}
				}
			}
		}
	}
}

// Tanh and Exp keep their promised error on dense grids and random bits.
func TestApproximations(t *testing.T) {
	const promised, size, parts = 3e-7, 1 << 12, 40
	for _, c := range []struct {
		name   string
		f      func([]float32)
		exact  func(float64) float64
		lo, hi float64 // of the grid, and of what is promised
	}{
		{"tanh", Tanh, math.Tanh, -10, 10},
		{"exp", Exp, math.Exp, -87, 88.7},
	} {
		r := source(3)
		x, want := make([]float32, 2*size*parts), make([]float64, 2*size*parts)
		for i := range x {
			x[i] = float32(c.lo + (c.hi-c.lo)*float64(i)/float64(len(x)))
			if i%2 == 1 {
				x[i] = min(max(math.Float32frombits(r.Uint32()), float32(c.lo)), float32(c.hi))
			}
			want[i] = c.exact(float64(x[i]))
		}
		eachClass(t, func(t *testing.T) {
			y := slices.Clone(x)
			c.f(y)
			worst, where := 0.0, float32(0)
			for i, w := range want {
				// A subnormal number has no relative precision, a NaN no error.
				if e := math.Abs(float64(y[i])-w) / max(math.Abs(w), 0x1p-126); w == w && !(e <= worst) {
					worst, where = e, x[i]
				}
			}
			t.Logf("%s: worst relative error %.3g at %v", c.name, worst, where)
			if !(worst <= promised) {
				t.Errorf("%s: relative error %.3g at %v, promised %.3g", c.name, worst, where, promised)
			}
		})
	}
}

func TestApproximationsAtTheEnds(t *testing.T) {
	inf := math.Inf(1)
	eachClass(t, func(t *testing.T) {
		for _, c := range []struct {
			name    string
			f       func([]float32)
			x, want float64
		}{
			{"tanh", Tanh, inf, 1}, {"tanh", Tanh, -inf, -1}, {"tanh", Tanh, 9.03, 1}, {"tanh", Tanh, -1e30, -1},
			{"tanh", Tanh, 0, 0}, {"tanh", Tanh, math.NaN(), math.NaN()},
			{"tanh", Tanh, 0x1p-149, 0x1p-149},
			{"exp", Exp, inf, inf}, {"exp", Exp, 88.73, inf}, {"exp", Exp, -inf, 0}, {"exp", Exp, -104, 0},
			{"exp", Exp, 0, 1}, {"exp", Exp, math.Copysign(0, -1), 1}, {"exp", Exp, math.NaN(), math.NaN()},
		} {
			x := make([]float32, Lanes)
			x[5] = float32(c.x)
			if c.f(x); !sameBits(x[5], float32(c.want)) {
				t.Errorf("%s %v = %v, want %v", c.name, c.x, x[5], c.want)
			}
		}
	})
}

// A result above 1 would turn the sign of the derivative 1 − y².
func TestTanhIsAtMostOne(t *testing.T) {
	x := make([]float32, 1<<16)
	for i := range x {
		x[i] = 8 + float32(i)*0x1.1p-16
	}
	eachClass(t, func(t *testing.T) {
		y := slices.Clone(x)
		Tanh(y)
		for i, v := range y {
			if v > 1 {
				t.Fatalf("tanh %v = %v, above 1", x[i], v)
			}
		}
	})
}

// What does not fit panics: it would be a write out of bounds otherwise.
func TestLaneKernelsPanicOnMisuse(t *testing.T) {
	x, y, which := make([]float32, 4*Lanes), make([]float32, 3*Lanes), make([]int32, Lanes)
	p := Plane{1, 1, Lanes}
	for name, f := range map[string]func(){
		"Relu of a part of a vector":     func() { Relu(x[1:]) },
		"ReluBack of unequal lengths":    func() { ReluBack(x, y) },
		"TanhBack of unequal lengths":    func() { TanhBack(x, y) },
		"LaneAxpyWide of other lengths":  func() { LaneAxpyWide(new([Lanes]float32), x, make([]float64, 31)) },
		"AddNarrow of unequal lengths":   func() { AddNarrow(x, make([]float64, 3)) },
		"AxpyWide of unequal lengths":    func() { AxpyWide(1, x, make([]float64, 3)) },
		"LaneScale to overlapping rows":  func() { LaneScale(x, Lanes-1, new([Lanes]float32), y) },
		"LaneScale to a short slice":     func() { LaneScale(y, Lanes, new([Lanes]float32), x) },
		"Spread to overlapping vectors":  func() { Spread(x, 2*Lanes, Lanes-1, x, Plane{1, 2, 2 * Lanes}) },
		"Spread to overlapping rows":     func() { Spread(x, Lanes, Lanes, x, Plane{1, 2, 2 * Lanes}) },
		"Spread to a short slice":        func() { Spread(y, 2*Lanes, Lanes, x, Plane{2, 2, 2 * Lanes}) },
		"Spread of a short slice":        func() { Spread(x, 2*Lanes, Lanes, y, Plane{2, 2, 2 * Lanes}) },
		"FromBytes of unequal lengths":   func() { FromBytes(x, make([]byte, 3), 1, 0) },
		"MaxPool of a small plane":       func() { MaxPool(x, p, y, 2*Lanes, which) },
		"MaxPool of a short row":         func() { MaxPool(x, p, x, Lanes, which) },
		"MaxPool with too few places":    func() { MaxPool(x, p, x, 2*Lanes, which[:15]) },
		"MaxPoolBack to a small plane":   func() { MaxPoolBack(y, 2*Lanes, x, p, which) },
		"AvgPool of a plane of height 0": func() { AvgPool(x, Plane{0, 1, Lanes}, x, 2*Lanes) },
		"AvgPoolBack to a small plane":   func() { AvgPoolBack(y, 2*Lanes, x, p) },
	} {
		if !panics(f) {
			t.Errorf("%s does not panic", name)
		}
	}
}

func BenchmarkLanes(b *testing.B) {
	const vectors = 784 // a channel of 28×28 in L1
	const n = vectors * Lanes
	x, y, z, zero := fill(n, 1), fill(n, 1), fill(n, 1), make([]float32, n)
	p, which, bytes := Plane{14, 14, 14 * Lanes}, make([]int32, n), make([]byte, n)
	wide := make([]float64, n)
	sum, squares, factors := new([LaneSums]float32), new([Lanes]float64), (*[Lanes]float32)(fill(Lanes, 1e-3))
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"Relu", func() { Relu(x) }},
		{"ReluBack", func() { ReluBack(z, zero) }},
		{"Tanh", func() { Tanh(x) }},
		{"TanhBack", func() { TanhBack(z, zero) }},
		{"Exp", func() { Exp(z) }},
		{"MaxPool", func() { MaxPool(x, p, y, 28*Lanes, which) }},
		{"MaxPoolBack", func() { MaxPoolBack(x, 28*Lanes, y, p, which) }},
		{"AvgPool", func() { AvgPool(x, p, y, 28*Lanes) }},
		{"AvgPoolBack", func() { AvgPoolBack(x, 28*Lanes, y, p) }},
		{"LaneSum", func() { LaneSum(sum, y) }},
		{"LaneSumSquares", func() { LaneSumSquares(squares, y) }},
		{"LaneScale", func() { LaneScale(x, Lanes, factors, y) }},
		{"LaneAxpyWide", func() { LaneAxpyWide(factors, y, wide[:n/2]) }},
		{"AddNarrow", func() { AddNarrow(x, wide) }},
		{"AxpyWide", func() { AxpyWide(1e-3, x, wide) }},
		{"FromBytes", func() { FromBytes(x, bytes, 0.01, -0.4) }},
	} {
		for _, class := range Classes() {
			b.Run(fmt.Sprintf("%s/%v", c.name, class), func(b *testing.B) {
				restore, err := Use(class)
				if err != nil {
					b.Fatal(err)
				}
				defer restore()
				for b.Loop() {
					c.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/float")
			})
		}
	}
}
