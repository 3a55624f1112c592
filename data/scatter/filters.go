package scatter

import (
	"math"
	"math/cmplx"
)

// The parameters of the wavelets, with 2 scales and 8 angles as in kymatio (not tested against it), but for
// the frequency n/2 of the wider wavelets, which is 0 here.
const (
	scales   = 2
	angles   = 8
	width    = 0.8             // σ of the narrower wavelets, in pixels
	centre   = 3 * math.Pi / 4 // ξ of the narrower wavelets
	slant    = 0.5
	lowpass  = 1.6 // σ of φ
	stride   = 4   // pixels between samples
	centring = 1.5 // place of the first sample, which makes the samples symmetric
)

func angle(t int) float64 { return float64(angles/2-1-t) * math.Pi / angles }

// gabor returns a Gabor function on a torus of ny×nx places:
//
//	exp(−uᵀR diag(1, s²) Rᵀu/(2σ²) + iξ(u₀cos θ + u₁sin θ)) · s/(2πσ²), summed over 5×5 periods
func gabor(ny, nx int, sigma, theta, xi, s float64) []complex128 {
	sin, cos := math.Sincos(theta)
	out := make([]complex128, ny*nx)
	for y := range ny {
		for x := range nx {
			var sum complex128
			for py := -2; py <= 2; py++ {
				for px := -2; px <= 2; px++ {
					u0, u1 := float64(y+py*ny), float64(x+px*nx)
					along, across := u0*cos+u1*sin, u1*cos-u0*sin
					size := math.Exp(-(along*along + s*s*across*across) / (2 * sigma * sigma))
					sum += cmplx.Rect(size, xi*along)
				}
			}
			out[y*nx+x] = sum * complex(s/(2*math.Pi*sigma*sigma), 0)
		}
	}
	return out
}

// morlet returns the wavelet ψ_{j,t} on a torus: a Gabor function without its mean.
func morlet(ny, nx, j, t int) []complex128 {
	scale := float64(int(1) << j)
	wave := gabor(ny, nx, width*scale, angle(t), centre/scale, slant)
	bell := gabor(ny, nx, width*scale, angle(t), 0, slant)
	var sumWave, sumBell complex128
	for i := range wave {
		sumWave += wave[i]
		sumBell += bell[i]
	}
	for i := range wave {
		wave[i] -= sumWave / sumBell * bell[i]
	}
	return wave
}

// spectrum returns the Fourier transform of ψ_{j,t}, which is real. For j = 1 the frequencies n/2 are
// left out, which have no mirror image. What is filtered then has samples anywhere between pixels.
func spectrum(ny, nx, j, t int) []float32 {
	wave := morlet(ny, nx, j, t)
	across := make([]complex128, len(wave)) // [y][kx]
	for y := range ny {
		dft(across[y*nx:][:nx], wave[y*nx:][:nx])
	}
	out := make([]float32, len(wave))
	column, transformed := make([]complex128, ny), make([]complex128, ny)
	for kx := range nx {
		for y := range ny {
			column[y] = across[y*nx+kx]
		}
		dft(transformed, column)
		for ky, v := range transformed {
			if j == 0 || ky != ny/2 && kx != nx/2 {
				out[ky*nx+kx] = float32(real(v))
			}
		}
	}
	return out
}

// dft sets dst to the discrete Fourier transform of x.
func dft(dst, x []complex128) {
	n := len(x)
	for k := range dst {
		dst[k] = 0
		for i, v := range x {
			dst[k] += v * cmplx.Rect(1, -2*math.Pi*float64(k*i%n)/float64(n))
		}
	}
}

// smoothing returns the matrix [sample][place] that convolves with φ on a torus of n pixels and keeps
// the samples 1.5 + 4, 1.5 + 8, … but the last. Place i is at pixel step·i + (step−1)/2. Each row has
// the sum 1.
func smoothing(n, step int) []float32 {
	places := n / step
	var out []float32
	for k := 1; k < n/stride-1; k++ {
		row, sum := make([]float64, places), 0.0
		for i := range row {
			for p := -2; p <= 2; p++ {
				d := float64(stride*k) + centring - (float64(step*i) + float64(step-1)/2) + float64(p*n)
				row[i] += math.Exp(-d * d / (2 * lowpass * lowpass))
			}
			sum += row[i]
		}
		for _, v := range row {
			out = append(out, float32(v/sum))
		}
	}
	return out
}

// parts returns the four entries of a complex product with z as a real 2×2 matrix, [to][from], of the
// real and the imaginary part.
func parts(z complex128) [2][2]float32 {
	re, im := float32(real(z)), float32(imag(z))
	return [2][2]float32{{re, -im}, {im, re}}
}

// axis holds the Fourier matrices of one axis of n places. A number of a spectrum is a pair of its
// real and its imaginary part.
type axis struct {
	n int
	// forward takes real numbers: [frequency ≤ n/2][part][place].
	forward []float32
	// onward takes complex numbers: [part][frequency][part][place].
	onward []float32
	// back[j] goes back to every step-th place, for step = 2^j, at pixels step·i + (step−1)/2, from n/step
	// frequencies. For the first axis to be transformed back it is [part][place][part][frequency], and
	// for the last [part][place][frequency][part].
	back, last [scales][]float32
	smooth     [scales][]float32 // see smoothing
}

func newAxis(n int) axis {
	a := axis{n: n}
	turn := func(k int, place float64) complex128 {
		return cmplx.Rect(1, 2*math.Pi*float64(k)*place/float64(n))
	}
	for k := range n/2 + 1 {
		for p := range 2 {
			for i := range n {
				a.forward = append(a.forward, parts(turn(-k*i%n, 1))[p][0])
			}
		}
	}
	a.onward = make([]float32, 4*n*n)
	for to := range 2 {
		for k := range n {
			for from := range 2 {
				for i := range n {
					a.onward[((to*n+k)*2+from)*n+i] = parts(turn(-k*i%n, 1))[to][from]
				}
			}
		}
	}
	for j := range scales {
		step := 1 << j
		m := n / step
		a.back[j], a.last[j] = make([]float32, 4*m*m), make([]float32, 4*m*m)
		for to := range 2 {
			for i := range m {
				for from := range 2 {
					for k := range m {
						v := parts(turn(k, float64(step*i)+float64(step-1)/2) / complex(float64(n), 0))[to][from]
						a.back[j][((to*m+i)*2+from)*m+k] = v
						a.last[j][((to*m+i)*m+k)*2+from] = v
					}
				}
			}
		}
		a.smooth[j] = smoothing(n, step)
	}
	return a
}
