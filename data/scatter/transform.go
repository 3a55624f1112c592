package scatter

import (
	"math"

	"proactivedp/data"
	"proactivedp/internal/f32"
)

const lanes = f32.Lanes

// The channels of a plane: order 0, then order 1 [j][t], then order 2 [t][t'].
const (
	order1   = 1
	order2   = order1 + scales*angles
	channels = order2 + angles*angles
)

// mirrored returns the channel that a channel becomes when an image is mirrored from left to right.
func mirrored(c int) int {
	turned := func(t int) int { return (angles + 6 - t) % angles }
	switch {
	case c < order1:
		return c
	case c < order2:
		j, t := (c-order1)/angles, (c-order1)%angles
		return order1 + j*angles + turned(t)
	}
	return order2 + turned((c-order2)/angles)*angles + turned((c-order2)%angles)
}

// pass is one entry of a wavelet's spectrum that is not 0: which number of the half spectrum it takes,
// and where its products go. An entry that comes from the other half is a conjugate.
type pass struct {
	from, to int // of the real part, in floats
	re, im   term
}

// term is a factor of the real or the imaginary part, and which of both parts it goes to.
type term struct {
	factor float32
	to     int
}

// grid holds what depends on the size of images. It is read-only once it is made.
type grid struct {
	height, width int   // of images
	py, px        []int // the pixel of each place of a padded plane
	y, x          axis
	rows, columns int // samples
	waves         [scales][angles][]pass
}

// padded returns the side of a padded plane: a multiple of 4 with at least 4 pixels on each side.
func padded(side int) int { return (side+stride-1)/stride*stride + 2*stride }

// reflected returns the pixel at each place of a padded line, by reflection that does not repeat the
// edge.
func reflected(side int) []int {
	n := padded(side)
	out := make([]int, n)
	for i := range out {
		at := i - (n-side)/2
		if at < 0 {
			at = -at
		}
		if at >= side {
			at = 2*(side-1) - at
		}
		out[i] = at
	}
	return out
}

func newGrid(height, width int) *grid {
	ny, nx := padded(height), padded(width)
	g := &grid{height: height, width: width, py: reflected(height), px: reflected(width), y: newAxis(ny),
		x: newAxis(nx), rows: ny/stride - 2, columns: nx/stride - 2}
	for j := range scales {
		for t := range angles {
			g.waves[j][t] = g.passes(spectrum(ny, nx, j, t), 1<<j)
		}
	}
	return g
}

// least is the smallest entry of a spectrum that counts. The largest is about 1.
const least = 1e-6

// passes returns the entries of a wavelet's spectrum, for samples at every step-th place. Frequencies
// that differ by n/step are the same for those. A sample is between two pixels for step 2, so that
// the negative frequencies get a factor of −i for each axis.
func (g *grid) passes(spectrum []float32, step int) []pass {
	ny, nx := g.y.n, g.x.n
	var all []pass
	for ky := range ny {
		for kx := range nx {
			v := spectrum[ky*nx+kx]
			if v <= least && v >= -least {
				continue
			}
			fy, fx, sign := ky, kx, float32(1)
			if ky > ny/2 {
				fy, fx, sign = ny-ky, (nx-kx)%nx, -1
			}
			quarter := ky/(ny/step) + kx/(nx/step) // turns by −90°; 0 for step 1
			p := pass{from: (2*fy*nx + fx) * lanes, to: (ky%(ny/step)*2*(nx/step) + kx%(nx/step)) * lanes}
			switch quarter {
			case 0:
				p.re, p.im = term{v, 0}, term{sign * v, 1}
			case 1:
				p.re, p.im = term{-v, 1}, term{sign * v, 0}
			default:
				p.re, p.im = term{-v, 0}, term{-sign * v, 1}
			}
			all = append(all, p)
		}
	}
	return all
}

// worker transforms groups of lanes images, one image in each lane.
type worker struct {
	*recipe
	products                           f32.ProductScratch
	plane, spectra, lines, inner       []float32
	filtered, halfBack, waves, modulus []float32
	second                             []float32 // the modulus of order 1 for j = 0
	raw, white, folded                 []float32 // [channel][row][column][lane]
	pixels                             [][]float32
}

func newWorker(r *recipe) *worker {
	g := r.grid
	plane := g.y.n * g.x.n * lanes
	half := (g.y.n/2 + 1) * g.x.n * 2 * lanes
	out := r.channels() * g.rows * g.columns * lanes
	w := &worker{recipe: r,
		plane: make([]float32, plane), lines: make([]float32, half), spectra: make([]float32, half),
		inner: make([]float32, half), filtered: make([]float32, 2*plane), halfBack: make([]float32, 2*plane),
		waves: make([]float32, 2*plane), modulus: make([]float32, plane), second: make([]float32, plane),
		raw: make([]float32, out), white: make([]float32, out),
		folded: make([]float32, (r.features+lanes-1)/lanes*lanes*lanes),
	}
	for range r.planes {
		w.pixels = append(w.pixels, make([]float32, g.height*g.width*lanes))
	}
	return w
}

// transform sets the rows of up to lanes images, which begin at the given one.
func (w *worker) transform(images *data.Images, first, count int, value []float32) {
	w.load(images, first, count)
	g, places := w.grid, w.grid.rows*w.grid.columns*lanes
	for p, pixels := range w.pixels {
		for y, from := range g.py {
			for x, at := range g.px {
				copy(w.plane[(y*g.x.n+x)*lanes:][:lanes], pixels[(from*g.width+at)*lanes:])
			}
		}
		w.scatter(w.raw[p*channels*places:][:channels*places])
	}
	if w.root {
		roots(w.raw)
	}
	n := w.channels()
	whiten := f32.Product{M: n, N: places, K: n, A: w.matrix, RowA: n, ColA: 1, B: w.raw, RowB: places, BlockB: lanes,
		C: w.white, RowC: places, BlockC: lanes, Bias: w.shift}
	whiten.Mul(&w.products)
	w.deal(count, value)
}

// load sets the planes of the images. Lanes without an image are black.
func (w *worker) load(images *data.Images, first, count int) {
	area := images.Height * images.Width
	for _, p := range w.pixels {
		clear(p)
	}
	for l := range count {
		image := images.Image(first + l)
		for p, factors := range w.planes {
			to := w.pixels[p]
			for c, factor := range factors {
				if factor == 0 {
					continue
				}
				for i, v := range image[c*area:][:area] {
					to[i*lanes+l] += float32(factor * float32(v))
				}
			}
		}
	}
}

// scatter sets out to the channels of the plane.
func (w *worker) scatter(out []float32) {
	places := w.grid.rows * w.grid.columns * lanes
	channel := func(c int) []float32 { return out[c*places:][:places] }
	w.smooth(channel(0), w.plane, 0)
	w.fourier(w.spectra, w.plane)
	for t := range angles {
		w.wave(w.second, w.spectra, 0, t)
		w.smooth(channel(order1+t), w.second, 0)
		w.fourier(w.inner, w.second)
		for u := range angles {
			w.wave(w.modulus, w.inner, 1, u)
			w.smooth(channel(order2+t*angles+u), w.modulus, 1)
		}
		w.wave(w.modulus, w.spectra, 1, t)
		w.smooth(channel(order1+angles+t), w.modulus, 1)
	}
}

// fourier sets spectrum to the transform of a real plane, [ky ≤ ny/2][part][kx].
func (w *worker) fourier(spectrum, plane []float32) {
	ny, nx := w.grid.y.n, w.grid.x.n
	half := ny/2 + 1
	down := f32.Product{M: 2 * half, N: nx * lanes, K: ny, A: w.grid.y.forward, RowA: ny, ColA: 1,
		B: plane, RowB: nx * lanes, BlockB: lanes, C: w.lines, RowC: nx * lanes, BlockC: lanes}
	down.Mul(&w.products)
	across := f32.Product{M: 2 * nx, N: half * lanes, K: 2 * nx, A: w.grid.x.onward, RowA: 2 * nx, ColA: 1,
		B: w.lines, RowB: lanes, BlockB: 2 * nx * lanes, C: spectrum, RowC: lanes, BlockC: 2 * nx * lanes}
	across.Mul(&w.products)
}

// wave convolves the image that has the spectrum with ψ_{j,t}, and sets out to the modulus of the result at
// every 2^j-th place.
func (w *worker) wave(out, spectrum []float32, j, t int) {
	step := 1 << j
	ny, nx := w.grid.y.n/step, w.grid.x.n/step
	im := nx * lanes // from a real part to its imaginary part
	filtered := w.filtered[:2*ny*nx*lanes]
	clear(filtered)
	for i := range w.grid.waves[j][t] {
		p := &w.grid.waves[j][t][i]
		re, other := spectrum[p.from:][:lanes], spectrum[p.from+w.grid.x.n*lanes:][:lanes]
		f32.Axpy(p.re.factor, re, filtered[p.to+p.re.to*im:][:lanes])
		f32.Axpy(p.im.factor, other, filtered[p.to+p.im.to*im:][:lanes])
	}
	across := f32.Product{M: 2 * nx, N: ny * lanes, K: 2 * nx, A: w.grid.x.back[j], RowA: 2 * nx, ColA: 1,
		B: filtered, RowB: lanes, BlockB: 2 * nx * lanes, C: w.halfBack, RowC: lanes, BlockC: 2 * nx * lanes}
	across.Mul(&w.products)
	up := f32.Product{M: 2 * ny, N: nx * lanes, K: 2 * ny, A: w.grid.y.last[j], RowA: 2 * ny, ColA: 1,
		B: w.halfBack, RowB: nx * lanes, BlockB: lanes, C: w.waves, RowC: nx * lanes, BlockC: lanes}
	up.Mul(&w.products)
	n := ny * nx * lanes
	re, imag := w.waves[:n], w.waves[n:2*n]
	out = out[:n]
	for i, a := range re {
		b := imag[i]
		out[i] = float32(math.Sqrt(float64(float32(a*a) + float32(b*b))))
	}
}

// smooth sets out to the samples of the convolution with φ of a plane that has every 2^j-th place.
func (w *worker) smooth(out, plane []float32, j int) {
	g, step := w.grid, 1<<j
	ny, nx := g.y.n/step, g.x.n/step
	down := f32.Product{M: g.rows, N: nx * lanes, K: ny, A: g.y.smooth[j], RowA: ny, ColA: 1,
		B: plane, RowB: nx * lanes, BlockB: lanes, C: w.lines, RowC: nx * lanes, BlockC: lanes}
	down.Mul(&w.products)
	across := f32.Product{M: g.columns, N: g.rows * lanes, K: nx, A: g.x.smooth[j], RowA: nx, ColA: 1,
		B: w.lines, RowB: lanes, BlockB: nx * lanes, C: out, RowC: lanes, BlockC: g.columns * lanes}
	across.Mul(&w.products)
}

// roots replaces each number by the square root of its size, with its sign.
func roots(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = -float32(math.Sqrt(float64(-v)))
		} else {
			x[i] = float32(math.Sqrt(float64(v)))
		}
	}
}

// deal scales the features, folds them if the recipe says so, and writes a row for each image.
func (w *worker) deal(count int, value []float32) {
	places := w.grid.rows * w.grid.columns
	from, zero := w.white, [lanes]float32{}
	if !w.fold {
		for i := range w.features {
			f32.AxpyTo(w.folded[i*lanes:][:lanes], w.scale, from[i*lanes:][:lanes], zero[:])
		}
	} else {
		pair := float32(float64(w.scale) / math.Sqrt2)
		to := 0
		for c := range w.channels() {
			p := c - c%channels + mirrored(c%channels)
			if p < c {
				continue
			}
			for row := range w.grid.rows {
				for x := range w.grid.columns {
					x2 := w.grid.columns - 1 - x
					if p == c && x > x2 {
						break
					}
					a := from[(c*places+row*w.grid.columns+x)*lanes:][:lanes]
					b := from[(p*places+row*w.grid.columns+x2)*lanes:][:lanes]
					out := w.folded[to*lanes:][:lanes]
					if p == c && x == x2 {
						f32.AxpyTo(out, w.scale, a, zero[:])
					} else {
						f32.AxpyTo(out, pair, a, zero[:])
						f32.Axpy(pair, b, out)
					}
					to++
				}
			}
		}
	}
	whole := w.features / lanes * lanes
	if count == lanes {
		for i := 0; i < whole; i += lanes {
			f32.Transpose(value[i:], w.features, w.folded[i*lanes:], lanes)
		}
	} else {
		whole = 0
	}
	for i := whole; i < w.features; i++ {
		for l := range count {
			value[l*w.features+i] = w.folded[i*lanes+l]
		}
	}
}
