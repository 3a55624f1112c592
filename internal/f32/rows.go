package f32

import "math"

// The kernels in this file are for linear models. They multiply dense rows of float32, which are
// selected by number, by parameters and factors in float64. A row has a multiple of WideLanes
// columns. Columns that the data does not have are 0.

// checkRows panics unless all rows are in x and have the given number of columns.
func checkRows(x []float32, stride int, rows []int32, columns, numbers int) {
	if stride != columns || stride%WideLanes != 0 || len(rows) != numbers {
		panic("f32: rows of another shape")
	}
	for _, r := range rows {
		if r < 0 || (int(r)+1)*stride > len(x) {
			panic("f32: a row out of range")
		}
	}
}

// WidenRow sets dst to x, followed by zeros. The length of dst must be that of x, rounded up to a
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

// RowDots sets z[i] to the product of w and the row rows[i] of x, which has stride = len(w)
// columns. Lane l is the sum over the columns c with c mod 8 = l, in order. The lanes are added as
// in SumWideLanes. Products of float32 are exact in float64. So if the numbers in w are float32
// values, only the sums round, and columns of 0 change nothing.
func RowDots(z []float64, x []float32, stride int, rows []int32, w []float64) {
	checkRows(x, stride, rows, len(w), len(z))
	kernels.rowDots(z, x, stride, rows, w)
}

// AheadRows asks the processor to load rows of x into the cache. They should be few. The code that
// follows does not wait for them.
func AheadRows(x []float32, stride int, rows []int32) {
	for _, r := range rows {
		prefetch(x[int(r)*stride:], 0, 1, stride)
	}
}

func rowDotsPortable(z []float64, x []float32, stride int, rows []int32, w []float64) {
	for i, r := range rows {
		var lanes [WideLanes]float64
		for c, v := range x[int(r)*stride:][:stride] {
			lanes[c%WideLanes] += float64(float64(v) * w[c])
		}
		SumWideLanes(z[i:i+1], lanes[:])
	}
}

// AddRows adds to sum, which has stride columns, the rows rows[i] of x times f[i]. Each product is
// rounded to float64 and then to a multiple of the unit u, with magic = 1.5·2^52·u (see
// models.Grid). A product may be at most 2^32 units. If sum is a multiple of u, such sums are
// exact, so the order does not matter. magic = 0 means no rounding.
func AddRows(sum []float64, x []float32, stride int, rows []int32, f []float64, magic float64) {
	checkRows(x, stride, rows, len(sum), len(f))
	if magic == 0 {
		addRowsPortable(sum, x, stride, rows, f, 0, 0)
		return
	}
	for len(rows) > 0 {
		n := min(len(rows), rowsOfUnits)
		// The kernel may add numbers of a unit as integers. Then it adds magic once for each row,
		// and start is the number that becomes magic after that.
		start := math.Float64frombits(math.Float64bits(magic) * uint64(1-n))
		kernels.addRows(sum, x, stride, rows[:n], f[:n], magic, start)
		rows, f = rows[n:], f[n:]
	}
}

// rowsOfUnits is the number of rows of at most 2^32 units whose sum is below 2^51, up to which a
// float64 near magic counts units.
const rowsOfUnits = 1 << 18

func addRowsPortable(sum []float64, x []float32, stride int, rows []int32, f []float64, magic, _ float64) {
	for i, r := range rows {
		for c, v := range x[int(r)*stride:][:stride] {
			sum[c] += float64(f[i]*float64(v)) + magic - magic
		}
	}
}

// ExpWide sets x to e^x in float64, with an error of at most 1.1 units in the last place for x in
// [-708, 709]. Beyond this range, x is replaced with the nearer end. NaN stays NaN. The length must
// be a multiple of WideLanes.
//
// Let n = x·log2 e, rounded. Then r = x − n·ln 2 is in ±0.3466 and rounded to 2^-55, because n
// times the first part of ln 2 is exact. Taylor's polynomial of degree 13 has an error of at most
// |r|^14/14!·e^|r| < 2^-57. r + r²·P(r) is rounded to 2^-55, and r²·P(r) to about 2^-57. Together
// this is 0.6 units of e^r, which is above ½, and adding 1 rounds by half a unit.
func ExpWide(x []float64) {
	if len(x)%WideLanes != 0 {
		panic("f32: not a whole number of vectors")
	}
	kernels.expWide(x)
}

// expWideTable has the constants in the order of their use: the bounds of x; log2 e; a number that
// rounds to an integer when it is added; ln 2 in two parts, of which the first has 32 bits; the
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
