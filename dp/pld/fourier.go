package pld

import (
	"math"
	"math/bits"
)

// chunk is the number of steps after which phases are computed anew.
const chunk = 32

// fourier sets re and im to Σ_j w_j·e^(i·n·step·(y_j-center)) for n = 0, 1, …, by the faster of two ways. No w_j is
// negative.
//
// With Σw_j = 1, the error at n = 0 is at most the returned number of units. It grows no faster than a parabola in n,
// to edge times as much at the last n. The rounding of the phases adds at most 4·unit·(n+chunk)·step·|y_j-center|·w_j
// for each j.
func fourier(re, im, w, y []float64, center, step float64, f *fast) (units, edge float64) {
	if f.pays(len(re), len(y)) {
		return f.sums(re, im, w, y, center, step), kernelEdge
	}
	rotations(re, im, w, y, center, step)
	return math.Ceil(float64(len(y))/panelNodes) + panelNodes + 4*chunk, 1
}

// rotations is fourier by one rotation of each term for each step.
func rotations(re, im, w, y []float64, center, step float64) {
	var sr, si, cr, ci [panelNodes]float64
	for first := 0; first < len(y); first += panelNodes {
		m := min(panelNodes, len(y)-first)
		w, y := w[first:first+m], y[first:first+m]
		for j, v := range y {
			ci[j], cr[j] = math.Sincos(step * (v - center))
		}
		clear(sr[m:])
		clear(si[m:])
		for n := range re {
			if n%chunk == 0 {
				t := float64(n) * step
				for j, v := range y {
					sin, cos := math.Sincos(t * (v - center))
					sr[j], si[j] = w[j]*cos, w[j]*sin
				}
			}
			a, b := rotate(&sr, &si, &cr, &ci)
			re[n] += a
			im[n] += b
		}
	}
}

// rotate returns the sum of the numbers s and rotates each of them by c.
func rotate(sr, si, cr, ci *[panelNodes]float64) (re, im float64) {
	var re2, im2 float64
	for j := 0; j < panelNodes; j += 2 {
		a, b, x, y := sr[j], si[j], cr[j], ci[j]
		re += a
		im += b
		sr[j] = a*x - b*y
		si[j] = a*y + b*x
		a, b, x, y = sr[j+1], si[j+1], cr[j+1], ci[j+1]
		re2 += a
		im2 += b
		sr[j+1] = a*x - b*y
		si[j+1] = a*y + b*x
	}
	return re + re2, im + im2
}

// fast is a fast Fourier transform for points that are not on a grid (Dutt, Rokhlin, SIAM Journal on Scientific
// Computing 14, 1993; Greengard, Lee, SIAM Review 46, 2004). The grid has size points.
//
// A point x is spread over the grid by the kernel φ(l-x) = e^(-(l-x)²/(2s²)). By Poisson's summation formula,
//
//	Σ_l φ(l-x)·e^(2πi·nl/size) = φ̂(n/size)·e^(2πi·nx/size)·(1 + Σ_{r≠0} φ̂(n/size+r)/φ̂(n/size)·e^(2πi·rx))
//
// with φ̂(v) = s√(2π)·e^(-2π²s²v²) and the sum over all integers l. So the left side over φ̂(n/size) is a term of
// fourier, up to three errors, in units of that term:
//
//   - the sum over r: at most 2.1·e^(-2π²s²·(1-2v)) ≤ 0.1 units for v ≤ 1/8, so size is at least 8 times the number
//     of n;
//   - the terms with |l-x| > reach + ½: at most 2.2·e^(-(reach+½)²/(2s²))/φ̂(1/8) ≤ 0.2 units;
//   - rounding. A term of the left side is a product of e^(-d²/(2s²)), e^(ld/s²) and e^(-l²/(2s²)), with d the
//     distance of x from the grid. These and their product are off by at most 4|l| + 8 units, and the mean of |l|
//     under the kernel is below 2. A sum at one point of the grid has at most hits terms. In each stage of the
//     transform, each value is a sum of terms whose sizes add up to a part of Σφ, and the parts of all values that
//     lead to one result add up to at most Σφ. The rounding of a stage, relative to such a part, is at most √5 units
//     of the product, 3 of the root and 1 of the sum. The last steps, which separate the even from the odd points,
//     add at most 16 units. They enlarge the errors of the stages by up to √2 at the same time, but even and odd
//     points share one transform, and Σ√(e²+o²) ≤ 0.74·Σφ for the kernel's values e and o at even and odd points:
//     √5+3+1 < 6.3 and 6.3·√2·0.74 < 7.
//
// So the error is at most 32 + hits + 7·log₂(size) units times Σφ/φ̂(v), which grows from 1 at v = 0 to kernelEdge.
type fast struct {
	size  int
	roots []complex128 // e^(2πi·k/size) for k < size/2
	grid  []float64    // with reach more points on either side
	cells []int        // how many points are nearest to a point of the grid
	z     []complex128
}

const (
	kernelVariance = 2.7 // s²
	reach          = 14
	kernelEdge     = 2.35 // above e^(2π²s²/64) = 2.2995 and the value 1 + … of the kernel's sum
)

// kernel has e^(-l²/(2s²)) for l = 0, 1, ….
var kernel = func() (k [reach + 1]float64) {
	for l := range k {
		k[l] = math.Exp(-float64(l*l) / (2 * kernelVariance))
	}
	return k
}()

// mostFast is the largest size of a fast transform, which takes 32 MB.
const mostFast = 1 << 20

// pays reports whether the fast transform takes less time for n results from the given number of nodes.
func (f *fast) pays(n, nodes int) bool {
	size := fastSize(n)
	return size <= mostFast && nodes*(n-35) > 6*size
}

func fastSize(n int) int { return 1 << max(6, bits.Len(uint(8*n-1))) }

// prepare allocates what a transform with n results needs.
func (f *fast) prepare(n int) {
	size := fastSize(n)
	if f.size == size {
		return
	}
	*f = fast{size: size, roots: make([]complex128, size/2), grid: make([]float64, size+2*reach), cells: make([]int, size),
		z: make([]complex128, size/2)}
	for k := range size/8 + 1 { // the other octants are mirror images
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(size))
		f.roots[k], f.roots[size/4-k] = complex(cos, sin), complex(sin, cos)
		f.roots[size/4+k] = complex(-sin, cos)
		if k > 0 {
			f.roots[size/2-k] = complex(-cos, sin)
		}
	}
}

// sums sets re and im as fourier does, and returns the error in units.
func (f *fast) sums(re, im, w, y []float64, center, step float64) (units float64) {
	f.prepare(len(re))
	clear(f.grid)
	clear(f.cells)
	scale := step * float64(f.size) / (2 * math.Pi)
	for j, v := range y {
		x := (v - center) * scale
		if math.Abs(x) > 1<<60 {
			x = math.Mod(x, float64(f.size)) // without an error
		}
		nearest := math.Round(x)
		d := x - nearest
		cell := int(nearest) & (f.size - 1)
		f.cells[cell]++
		at := w[j] * math.Exp(-d*d/(2*kernelVariance))
		ratio := math.Exp(d / kernelVariance)
		around := f.grid[cell : cell+2*reach+1]
		around[reach] += at
		up, down, back := at, at, 1/ratio
		for l := 1; l <= reach; l++ {
			up *= ratio
			down *= back
			around[reach+l] += up * kernel[l]
			around[reach-l] += down * kernel[l]
		}
	}
	// The grid is a circle.
	for l := range reach {
		f.grid[f.size+l] += f.grid[l]
		f.grid[reach+l] += f.grid[f.size+reach+l]
	}
	grid := f.grid[reach : f.size+reach]
	half := f.size / 2
	shift := bits.LeadingZeros(uint(half - 1))
	for k := range f.z { // even points are real parts, odd points are imaginary parts
		at := 2 * int(bits.Reverse(uint(k))>>shift)
		f.z[k] = complex(grid[at], grid[at+1])
	}
	f.transform()
	for n := range re {
		a, b := f.z[n], f.z[(half-n)&(half-1)]
		even := complex(real(a)+real(b), imag(a)-imag(b))
		odd := complex(imag(a)+imag(b), real(b)-real(a))
		sum := even + odd*f.roots[n]
		v := float64(n) / float64(f.size)
		scale := 0.5 * math.Exp(2*math.Pi*math.Pi*kernelVariance*v*v) / math.Sqrt(2*math.Pi*kernelVariance)
		re[n], im[n] = scale*real(sum), scale*imag(sum)
	}
	return 32 + float64(f.hits()) + 7*float64(bits.Len(uint(f.size)))
}

// hits bounds the number of terms that are added up at one point of the grid.
func (f *fast) hits() (most int) {
	sum, mask := 0, f.size-1
	for l := -reach; l <= reach; l++ {
		sum += f.cells[l&mask]
	}
	for l := range f.size {
		most = max(most, sum)
		sum += f.cells[(l+reach+1)&mask] - f.cells[(l-reach)&mask]
	}
	return most + 2
}

// transform replaces z, whose indices have their bits reversed, by Σ_l z_l·e^(2πi·kl/len(z)).
func (f *fast) transform() {
	for m := 1; m < len(f.z); m *= 2 {
		stride := len(f.roots) / m
		for first := 0; first < len(f.z); first += 2 * m {
			low, high := f.z[first:first+m], f.z[first+m:first+2*m]
			for k := range low {
				a, b := low[k], high[k]*f.roots[k*stride]
				low[k], high[k] = a+b, a-b
			}
		}
	}
}
