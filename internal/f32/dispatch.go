package f32

import (
	"fmt"
	"os"
	"slices"

	"proactivedp/internal/cpu"
)

// EnvKernels is the name of the environment variable that selects a lower class of kernels than the machine has:
// portable, avx2, avx512, amx or neon.
const EnvKernels = "PROACTIVEDP_KERNELS"

var (
	class          cpu.Class // class of the kernels in use
	environmentErr error
)

func init() {
	class, environmentErr = environmentClass(os.Getenv(EnvKernels))
	kernels = sets[class]
}

// environmentClass returns the class that the variable names. If it is not set, or the class is not
// available, it returns the widest usable class.
func environmentClass(word string) (cpu.Class, error) {
	if word == "" {
		return widest(), nil
	}
	c, err := cpu.ParseClass(word)
	if err == nil {
		err = usable(c)
	}
	if err != nil {
		return widest(), fmt.Errorf("%s: %w", EnvKernels, err)
	}
	return c, nil
}

// EnvironmentErr returns an error if the variable EnvKernels has an invalid value. The kernels are then chosen as if
// it were not set. Programs should check this before they run kernels.
func EnvironmentErr() error { return environmentErr }

// widest returns the widest class that both the machine and the build support.
func widest() cpu.Class { return min(cpu.Detect(), cpu.Class(len(sets)-1)) }

func usable(c cpu.Class) error {
	if all := Classes(); !slices.Contains(all, c) {
		return fmt.Errorf("kernels = %v, must be one of %v on this machine and in this build", c, all)
	}
	return nil
}

func Kernels() cpu.Class { return class }

// Tiled reports whether the kernels in use have matrix tiles (AMX). Products of numbers that are split into bfloat16
// parts are then fast; see SplitTile.
func Tiled() bool { return class == cpu.AMX }

// Classes returns the classes of kernels that this machine can run, from the narrowest vector
// instructions to the widest.
func Classes() []cpu.Class {
	var all []cpu.Class
	for c, set := range sets[:widest()+1] {
		if set.relu != nil { // otherwise it is a class of other machines
			all = append(all, cpu.Class(c))
		}
	}
	return all
}

// Use switches to the kernels of the class c until restore is called, for tests and benchmarks. No kernel may run
// during the switch.
func Use(c cpu.Class) (restore func(), err error) {
	if err := usable(c); err != nil {
		return nil, err
	}
	before := class
	class, kernels = c, sets[c]
	return func() { class, kernels = before, sets[before] }, nil
}

// kernelSet holds the kernels of one class that are called through function values. Arguments that
// are passed to them by pointer escape to the heap. The kernels of tiles, whose arguments should
// not escape, are chosen by a switch over the class instead.
type kernelSet struct {
	relu           func(x []float32)
	reluBack       func(d, y []float32)
	tanh           func(x []float32)
	tanhBack       func(d, y []float32)
	exp            func(x []float32)
	maxPool        func(dst []float32, p Plane, src []float32, srcRow int, which []int32)
	maxPoolBack    func(dst []float32, dstRow int, d []float32, p Plane, which []int32)
	maxPoolHalves  func(dst []float32, odd []int32, d []float32, p Plane, which []int32)
	avgPool        func(dst []float32, p Plane, src []float32, srcRow int)
	avgPoolBack    func(dst []float32, dstRow int, d []float32, p Plane)
	laneSumSquares func(acc *[Lanes]float64, x []float32)
	laneSum        func(acc *[LaneSums]float32, x []float32)
	laneScale      func(dst []float32, dstRow int, f *[Lanes]float32, x []float32)
	fromBytes      func(dst []float32, src []byte, scale, shift float32)
	axpyTo         func(dst []float32, alpha float32, x, y []float32)
	sumSquares     func(x []float32) float64
	spread         func(dst []float32, dstRow, dstColumn int, src []float32, p Plane)
	laneAxpyWide   func(f *[Lanes]float32, x []float32, y []float64)
	axpyWide       func(alpha float64, x []float32, y []float64)
	addNarrow      func(dst []float32, x []float64)
	addWide        func(dst []float64, dstRow int, x []float32, rows, vectors int)
	narrowTile     func(dst []float32, dstRow int, x []float64, rows, vectors int)
	widenRow       func(dst []float64, x []float32)
	rowDots        func(z []float64, zRow int, x []float32, stride int, rows []int32, w []float64, vectors int)
	addRows        func(sum []float64, x []float32, stride int, rows []int32, f []float64, fRow int,
		magic, start float64, vectors int)
	expWide       func(x []float64)
	logisticSteps func(step, factor, dot, side []float64, l *Logistic)
	oddTiles      bool // see PrefersOdd
}

var portable = kernelSet{
	relu: reluPortable, reluBack: reluBackPortable, tanh: tanhPortable, tanhBack: tanhBackPortable, exp: expPortable,
	maxPool: maxPoolPortable, maxPoolBack: maxPoolBackPortable, maxPoolHalves: maxPoolHalvesPortable,
	avgPool: avgPoolPortable, avgPoolBack: avgPoolBackPortable,
	laneSumSquares: laneSumSquaresPortable, laneSum: laneSumPortable, laneScale: laneScalePortable,
	spread:    spreadPortable,
	fromBytes: fromBytesPortable, axpyTo: axpyToPortable, sumSquares: sumSquaresPortable,
	laneAxpyWide: laneAxpyWidePortable, addNarrow: addNarrowPortable, axpyWide: axpyWidePortable,
	addWide: addWidePortable, narrowTile: narrowTilePortable,
	widenRow: widenRowPortable, rowDots: rowDotsPortable, addRows: addRowsPortable, expWide: expWidePortable,
	logisticSteps: logisticStepsPortable,
}

// kernels is the set of the class in use.
var kernels kernelSet

// ofAnyLength returns the set k, of a class without masks, with kernels for slices of any length.
// They call those of k for whole vectors, and the portable ones for the elements after the last
// whole vector.
func (k kernelSet) ofAnyLength() kernelSet {
	whole := k
	k.axpyTo = func(dst []float32, alpha float32, x, y []float32) {
		n := len(x) / Lanes * Lanes
		whole.axpyTo(dst[:n], alpha, x[:n], y[:n])
		axpyToPortable(dst[n:], alpha, x[n:], y[n:])
	}
	k.axpyWide = func(alpha float64, x []float32, y []float64) {
		n := len(x) / Lanes * Lanes
		whole.axpyWide(alpha, x[:n], y[:n])
		axpyWidePortable(alpha, x[n:], y[n:])
	}
	k.addNarrow = func(dst []float32, x []float64) {
		n := len(x) / Lanes * Lanes
		whole.addNarrow(dst[:n], x[:n])
		addNarrowPortable(dst[n:], x[n:])
	}
	k.widenRow = func(dst []float64, x []float32) {
		n := len(x) / WideLanes * WideLanes
		whole.widenRow(dst[:n], x[:n])
		widenRowPortable(dst[n:], x[n:])
	}
	return k
}
