package f32

import (
	"math"

	"proactivedp/internal/cpu"
)

// The kernels in this file are for linear models. They multiply dense rows of float32, which are
// selected by number, by parameters and factors in float64, for one or more vectors of parameters. A row has a multiple of WideLanes
// columns. Columns that the data does not have are 0.

// checkRows panics unless all rows are in x, and there are whole vectors of stride columns, each
// with a number for every row.
func checkRows(x []float32, stride int, rows []int32, columns, numbers int) {
	if stride < WideLanes || stride%WideLanes != 0 || columns < stride || columns%stride != 0 ||
		numbers != columns/stride*len(rows) {
		panic("f32: rows of another shape")
	}
	for _, r := range rows {
		if r < 0 || (int(r)+1)*stride > len(x) {
			panic("f32: a row out of range")
		}
	}
}

// rowVectors is the largest number of vectors that the kernels of a class process at a time. One
// conversion of a row then serves all of them.
var rowVectors = [...]int{cpu.Portable: 1, cpu.AVX2: 3, cpu.AVX512: 5, cpu.AMX: 5, cpu.NEON: 1}

// eachVectors calls f for groups of n of the given number of vectors, which begin at vector k.
// Their sizes differ by at most one.
func eachVectors(vectors int, f func(k, n int)) {
	most := rowVectors[class]
	groups := (vectors + most - 1) / most
	for k := 0; groups > 0; groups-- {
		n := (vectors - k + groups - 1) / groups
		f(k, n)
		k += n
	}
}

// WidenRow sets dst to the numbers of x, followed by zeros. The length of dst must be that of x rounded up to a
// multiple of WideLanes.
func WidenRow(dst []float64, x []float32) {
	if len(dst) != (len(x)+WideLanes-1)/WideLanes*WideLanes {
		panic("f32: WidenRow to a row of another length")
	}
	kernels.widenRow(dst, x)
}

func widenRowPortable(dst []float64, x []float32) {
	for i, v := range x {
		dst[i] = float64(v)
	}
	clear(dst[len(x):])
}

// RowDots multiplies rows of x by one or more vectors. x has rows of stride columns. w holds the vectors one
// after another. RowDots sets z[k*len(rows)+i] to the inner product of vector k and row rows[i] of x. Lane l is the sum over the
// columns c with c mod 8 = l, in order, and the lanes are added as in SumWideLanes. If the numbers in w are float32
// values, products are exact in float64, so only the sums round, and columns of 0 change nothing.
func RowDots(z []float64, x []float32, stride int, rows []int32, w []float64) {
	checkRows(x, stride, rows, len(w), len(z))
	if len(rows) == 0 {
		return
	}
	eachVectors(len(w)/stride, func(k, n int) {
		kernels.rowDots(z[k*len(rows):], len(rows), x, stride, rows, w[k*stride:][:n*stride], n)
	})
}

// AheadRows asks the processor to load a few rows of x into the cache. It does not wait for them.
func AheadRows(x []float32, stride int, rows []int32) {
	for _, r := range rows {
		prefetch(x[int(r)*stride:], 0, 1, stride)
	}
}

func rowDotsPortable(z []float64, _ int, x []float32, stride int, rows []int32, w []float64, _ int) {
	for i, r := range rows {
		var lanes [WideLanes]float64
		for c, v := range x[int(r)*stride:][:stride] {
			lanes[c%WideLanes] += float64(float64(v) * w[c])
		}
		SumWideLanes(z[i:i+1], lanes[:])
	}
}

// AddRows adds rows of x, times factors, to one or more sums. x has rows of stride columns. sum is [sum][column], and
// f is [sum][row]. To each sum[k] it adds row rows[i] of x times f[k][i]. Each product is rounded to float64 and then
// to a multiple of a unit u, where magic = 1.5·2^52·u (see models.Grid). A product may be at most 2^32 units. If the
// numbers in sum are multiples of u, the additions are exact, so their order does not matter. magic = 0 means no
// rounding to units.
func AddRows(sum []float64, x []float32, stride int, rows []int32, f []float64, magic float64) {
	checkRows(x, stride, rows, len(sum), len(f))
	fRow := len(rows)
	if magic == 0 {
		for k := range len(sum) / stride {
			addRowsPortable(sum[k*stride:][:stride], x, stride, rows, f[k*fRow:], fRow, 0, 0, 1)
		}
		return
	}
	for len(rows) > 0 {
		some := rows[:min(len(rows), rowsOfUnits)]
		// The kernel may add numbers of a unit as integers. Then it adds magic once for each row,
		// and start is the number that becomes magic after that.
		start := math.Float64frombits(math.Float64bits(magic) * uint64(1-len(some)))
		eachVectors(len(sum)/stride, func(k, n int) {
			kernels.addRows(sum[k*stride:][:n*stride], x, stride, some, f[k*fRow:], fRow, magic, start, n)
		})
		rows, f = rows[len(some):], f[len(some):]
	}
}

// rowsOfUnits is the number of rows of at most 2^32 units whose sum is below 2^51, up to which a
// float64 near magic counts units.
const rowsOfUnits = 1 << 18

func addRowsPortable(sum []float64, x []float32, stride int, rows []int32, f []float64, _ int, magic, _ float64, _ int) {
	for i, r := range rows {
		for c, v := range x[int(r)*stride:][:stride] {
			sum[c] += float64(f[i]*float64(v)) + magic - magic
		}
	}
}

// ExpWide sets x to e^x in float64, with an error of at most 1.1 units in the last place for x in [-708,
// 709]. Beyond this range, x is replaced with the nearer end. NaN stays NaN. The length must be a multiple
// of WideLanes.
func ExpWide(x []float64) {
	// Proof of the error. Let n be x·log2 e, rounded to a whole number, so that e^x = 2^n·e^r with r = x −
	// n·ln 2.
	//
	//  1. r is in ±0.3466 and rounded to 2^-55, because n times the first part of ln 2 is exact.
	//  2. Taylor's polynomial of degree 13 for e^r has an error of at most |r|^14/14!·e^|r| < 2^-57.
	//  3. r + r²·P(r) is rounded to 2^-55, and r²·P(r) to about 2^-57. Together with steps 1 and 2 this is
	//     0.6 units of e^r, which is above ½. Adding 1 rounds by half a unit.
	if len(x)%WideLanes != 0 {
		panic("f32: not a whole number of vectors")
	}
	kernels.expWide(x)
}

// expWideTable has the constants in the order of their use: the bounds of x; log2 e; a number that
// rounds to an integer when it is added; ln 2 in two parts, the first with 32 bits; the
// number whose bits are the bias of an exponent; 1; and 1/2!, 1/3!, …, 1/13!.
var expWideTable = [20]float64{
	-708, 709, math.Log2E, 1.5 * (1 << 52),
	ln2High, math.Ln2 - ln2High,
	expBias * math.SmallestNonzeroFloat64, 1,
	1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800,
	1. / 479001600, 1. / 6227020800,
}

const (
	ln2High = 0x1.62e42feep-1
	expBias = 1023
)

func expWidePortable(x []float64) {
	t := &expWideTable
	for i, v := range x {
		if v > t[1] { // false for NaN
			v = t[1]
		}
		if v < t[0] {
			v = t[0]
		}
		k := float64(v*t[2]) + t[3]
		whole := k - t[3]
		v -= float64(whole * t[4])
		v -= float64(whole * t[5])
		var p [6]float64
		for j := range p {
			p[j] = t[8+2*j] + float64(t[9+2*j]*v)
		}
		square := float64(v * v)
		fourth := float64(square * square)
		low := (p[0] + float64(p[1]*square)) + float64((p[2]+float64(p[3]*square))*fourth)
		high := float64((p[4] + float64(p[5]*square)) * float64(fourth*fourth))
		e := float64((low+high)*square) + v + 1
		x[i] = e * math.Float64frombits((math.Float64bits(k)+expBias)<<52)
	}
}
