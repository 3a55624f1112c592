package main

// twin is a kernel that does the same as the portable function NAMEPortable, for every instruction class.
type twin struct {
	name, signature string
	lengths         lengths
	amd64           func(simd)  // writes what is between the start and the end of the function
	arm64           func(*neon) // nil if there is none
}

// lengths says which slices a twin processes.
type lengths int

const (
	anyLength         lengths = iota
	wholeVectors              // only whole vectors
	wholeWithoutMasks         // only whole vectors, unless the class has masks for the rest of a slice
	withMasks                 // the twin exists only for the class with masks
)

func (t twin) doc(masks bool) string {
	doc := "does the same as " + t.name + "Portable"
	if t.lengths == wholeVectors || t.lengths == wholeWithoutMasks && !masks {
		doc += " for whole vectors"
	}
	return doc + "."
}

// twins writes kernels for AVX2, and then for AVX-512.
func (k *kernels) twins(all []twin) {
	for _, s := range []simd{{k, "AVX2", 32}, {k, "AVX512", 64}} {
		for _, t := range all {
			if t.lengths == withMasks && !s.wide() {
				continue
			}
			s.kernel(t.name+s.class, t.signature, t.doc(s.wide()))
			t.amd64(s)
			s.end()
		}
	}
}

func (n *neon) twins(all []twin) {
	for _, t := range all {
		if t.arm64 != nil {
			n.kernel(t.name+"NEON", t.signature, t.doc(false))
			t.arm64(n)
			n.end()
		}
	}
}

// vectorTwins are the element-by-element kernels. Each follows its portable version operation by operation, so all
// classes give the same bits. Squares of float32 are exact in float64, so a fused operation rounds like two
// operations.
var vectorTwins = []twin{
	{"relu", "func(x []float32)", anyLength, simd.relu, (*neon).relu},
	{"reluBack", "func(d, y []float32)", anyLength, simd.reluBack, (*neon).reluBack},
	{"tanh", "func(x []float32)", anyLength, simd.tanh, (*neon).tanh},
	{"tanhBack", "func(d, y []float32)", anyLength, simd.tanhBack, (*neon).tanhBack},
	{"exp", "func(x []float32)", anyLength, simd.exp, (*neon).exp},
	{"maxPool", "func(dst []float32, p Plane, src []float32, srcRow int, which []int32)", anyLength, simd.maxPool, (*neon).maxPool},
	{"maxPoolBack", "func(dst []float32, dstRow int, d []float32, p Plane, which []int32)", anyLength, simd.maxPoolBack, (*neon).maxPoolBack},
	{"maxPoolHalves", "func(dst []float32, odd []int32, d []float32, p Plane, which []int32)", withMasks, simd.maxPoolHalves, nil},
	{"avgPool", "func(dst []float32, p Plane, src []float32, srcRow int)", anyLength, simd.avgPool, (*neon).avgPool},
	{"avgPoolBack", "func(dst []float32, dstRow int, d []float32, p Plane)", anyLength, simd.avgPoolBack, (*neon).avgPoolBack},
	{"laneSum", "func(acc *[64]float32, x []float32)", anyLength, simd.laneSum, (*neon).laneSum},
	{"laneSumSquares", "func(acc *[16]float64, x []float32)", anyLength, simd.laneSumSquares, (*neon).laneSumSquares},
	{"sumSquares", "func(x []float32) float64", anyLength, simd.sumSquares, (*neon).sumSquares},
	{"laneScale", "func(dst []float32, dstRow int, f *[16]float32, x []float32)", anyLength, simd.laneScale, (*neon).laneScale},
	{"axpyTo", "func(dst []float32, alpha float32, x, y []float32)", wholeWithoutMasks, simd.axpyTo, (*neon).axpyTo},
	{"fromBytes", "func(dst []float32, src []byte, scale, shift float32)", wholeVectors, simd.fromBytes, (*neon).fromBytes},
	{"laneAxpyWide", "func(f *[16]float32, x []float32, y []float64)", anyLength, simd.laneAxpyWide, (*neon).laneAxpyWide},
	{"addWide", "func(dst []float64, dstRow int, x []float32, rows, vectors int)", anyLength, simd.addWide, (*neon).addWide},
	{"addNarrow", "func(dst []float32, x []float64)", wholeWithoutMasks, simd.addNarrow, (*neon).addNarrow},
	{"narrowTile", "func(dst []float32, dstRow int, x []float64, rows, vectors int)", anyLength, simd.narrowTile, (*neon).narrowTile},
	{"axpyWide", "func(alpha float64, x []float32, y []float64)", wholeWithoutMasks, simd.axpyWide, (*neon).axpyWide},
	{"spread", "func(dst []float32, dstRow, dstColumn int, src []float32, p Plane)", anyLength, simd.spread, (*neon).spread},
}

// rowTwins are the kernels of linear models, whose rows are dense. Each has the bits of its portable version. A
// product of two float32 is exact in float64, so fusing it with a sum changes nothing.
var rowTwins = []twin{
	{"widenRow", "func(dst []float64, x []float32)", wholeWithoutMasks, simd.widenRow, nil},
	{"rowDots", "func(z []float64, zRow int, x []float32, stride int, rows []int32, w []float64, vectors int)",
		anyLength, simd.rowDots, (*neon).rowDots},
	{"addRows", "func(sum []float64, x []float32, stride int, rows []int32, f []float64, fRow int, " +
		"magic, start float64, vectors int)", anyLength, simd.addRows, (*neon).addRows},
	{"expWide", "func(x []float64)", anyLength, simd.expWide, (*neon).expWide},
	{"logisticSteps", "func(step, factor, dot, side []float64, l *Logistic)", anyLength, simd.logisticSteps, nil},
}

// normalTwins are the kernels of Gaussian noise, which follow addNormalsPortable operation by operation.
func normalTwins(amd64 func(simd)) []twin {
	return []twin{
		{"addNormals", "func(x []float32, bits []byte, scale float32) int", anyLength, amd64, (*neon).addNormals},
	}
}
