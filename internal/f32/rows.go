package f32

import "math"

// The kernels of this file are those of linear models: dense rows of float32, of which
// each call takes some by number, times parameters and factors in float64. A row is a
// whole number of WideLanes columns; columns that the data do not have are 0.

// checkRows panics unless all rows are in x and a row is of so many columns.
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

// WidenRow sets dst, of the length of x rounded up to whole WideLanes, to x and 0 behind it.
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

// RowDots sets z[i] to the product of w with row rows[i] of x, of stride = len(w) columns:
// lane l is the sum over the columns c = l mod 8, in their order, and the lanes are added
// as by SumWideLanes. Products of float32 are exact, so if w are float32 the sums alone
// round, and columns of 0 change nothing.
func RowDots(z []float64, x []float32, stride int, rows []int32, w []float64) {
	checkRows(x, stride, rows, len(w), len(z))
	kernels.rowDots(z, x, stride, rows, w)
}

// AheadRows asks for rows of x to be brought near, of which there should be few: what
// comes between does not wait for them.
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

// AddRows adds to sum, of stride columns, the rows rows[i] of x times f[i], each product
// rounded to float64 and then to the unit u with magic = 1.5·2^52·u (see models.Grid), of
// which it may be at most 2^32. Such sums are exact, and so free of order, where sum itself
// is a multiple of u. magic = 0 rounds nothing.
func AddRows(sum []float64, x []float32, stride int, rows []int32, f []float64, magic float64) {
	checkRows(x, stride, rows, len(sum), len(f))
	if magic == 0 {
		addRowsPortable(sum, x, stride, rows, f, 0, 0)
		return
	}
	for len(rows) > 0 {
		n := min(len(rows), rowsOfUnits)
		// Where the kernel adds numbers of a unit as integers, this is what magic, once
		// with each row, becomes magic with.
		start := math.Float64frombits(math.Float64bits(magic) * uint64(1-n))
		kernels.addRows(sum, x, stride, rows[:n], f[:n], magic, start)
		rows, f = rows[n:], f[n:]
	}
}

// rowsOfUnits is how many numbers of 2^32 units make less than the 2^51 up to which a
// float64 near magic counts units.
const rowsOfUnits = 1 << 18

func addRowsPortable(sum []float64, x []float32, stride int, rows []int32, f []float64, magic, _ float64) {
	for i, r := range rows {
		for c, v := range x[int(r)*stride:][:stride] {
			sum[c] += float64(f[i]*float64(v)) + magic - magic
		}
	}
}

// ExpWide sets x, a whole number of WideLanes, to e^x in float64: to 1.1 units in the last
// place for x in [-708, 709], and as if it were the nearer of these beyond. NaN stays NaN.
//
// With n = x·log2 e rounded, r = x − n·ln 2 is in ±0.3466 and rounded to 2^-55, since n
// times the first part of ln 2 is exact. Taylor's polynomial of degree 13 is off by at most
// |r|^14/14!·e^|r| < 2^-57, and r + r²·P(r) is rounded to 2^-55 and, in r²·P(r), to some
// 2^-57: together to 0.6 units of e^r, which is above ½, and adding 1 rounds by half a unit.
func ExpWide(x []float64) {
	if len(x)%WideLanes != 0 {
		panic("f32: not a whole number of vectors")
	}
	kernels.expWide(x)
}

// expWideTable has the constants in the order of their use: the bounds of x; log2 e; what
// rounds to an integer by being added; ln 2 in two parts, of which the first has 32 bits;
// the number whose bits are the bias of an exponent; 1; and 1/2!, 1/3!, …, 1/13!.
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
		if v > t[1] { // which NaN is not
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
