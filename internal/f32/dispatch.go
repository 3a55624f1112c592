package f32

// kernelSet is one implementation of every kernel.
type kernelSet struct {
	tile           func(*Tile, []Term)
	laneTile       func(*LaneTile, []Term)
	transpose      func(dst []float32, dstRow int, src []float32, srcRow int)
	relu           func(x []float32)
	reluBack       func(d, y []float32)
	tanh           func(x []float32)
	tanhBack       func(d, y []float32)
	exp            func(x []float32)
	maxPool        func(dst []float32, p Plane, src []float32, srcRow int, which []int32)
	maxPoolBack    func(dst []float32, dstRow int, d []float32, p Plane, which []int32)
	avgPool        func(dst []float32, p Plane, src []float32, srcRow int)
	avgPoolBack    func(dst []float32, dstRow int, d []float32, p Plane)
	laneSumSquares func(acc *[Lanes]float64, x []float32)
	laneSum        func(acc *[Lanes]float32, x []float32)
	laneScale      func(dst []float32, dstRow int, f *[Lanes]float32, x []float32)
	laneAxpy       func(f *[Lanes]float32, x, y []float32)
	sumLanes       func(dst, x []float32)
	fromBytes      func(dst []float32, src []byte, scale, shift float32)
}

var portable = kernelSet{
	tile: tilePortable, laneTile: laneTilePortable, transpose: transposePortable,
	relu: reluPortable, reluBack: reluBackPortable, tanh: tanhPortable, tanhBack: tanhBackPortable, exp: expPortable,
	maxPool: maxPoolPortable, maxPoolBack: maxPoolBackPortable, avgPool: avgPoolPortable, avgPoolBack: avgPoolBackPortable,
	laneSumSquares: laneSumSquaresPortable, laneSum: laneSumPortable, laneScale: laneScalePortable,
	laneAxpy: laneAxpyPortable, sumLanes: sumLanesPortable, fromBytes: fromBytesPortable,
}

// kernels is the set in use.
var kernels = portable
