package scatter

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"

	"proactivedp/data"
	"proactivedp/internal/testkit"
	"proactivedp/rng"
)

var writeConstants = flag.Bool("constants", false, "write constants.bin anew")

// The images that the constants are of.
const (
	drawnImages = 512
	drawnSeed   = 1
	waves       = 150
	sparse      = 3 // every third place counts
)

// field adds to a plane of side×side places a sum of cosines of random directions and phases, whose
// frequencies are log-uniform in [0.4/side, 1/2] cycles a pixel: a spectrum of 1/f, and variance 1.
func field(s *rng.Stream, plane []float64, side int, size float64) {
	size /= math.Sqrt(waves / 2)
	low := 0.4 / float64(side)
	cos, sin := make([]float64, side), make([]float64, side)
	for range waves {
		f := 2 * math.Pi * low * math.Pow(0.5/low, s.Float64())
		direction, phase := 2*math.Pi*s.Float64(), 2*math.Pi*s.Float64()
		fy, fx := math.Sincos(direction)
		for x := range side {
			sin[x], cos[x] = math.Sincos(f*fx*float64(x) + phase)
		}
		for y := range side {
			sy, cy := math.Sincos(f * fy * float64(y))
			row := plane[y*side:][:side]
			for x := range row {
				row[x] += size * (cy*cos[x] - sy*sin[x])
			}
		}
	}
}

// drawn returns images of 1/f noise: m + g(0.95ℓ + 0.3c), clamped to [0, 1], for the luminance ℓ of all
// colours and a field c of each.
func drawn(channels, side int) *data.Images { return drawnOf(channels, side, drawnImages) }

func drawnOf(channels, side, n int) *data.Images {
	m := &data.Images{Channels: channels, Height: side, Width: side}
	root := rng.New(drawnSeed)
	light, colour := make([]float64, side*side), make([]float64, side*side)
	for i := range n {
		s := root.Stream(rng.Synthetic, uint32(channels), i)
		mean, gain := 0.47+0.1*s.Normal(), 0.2*math.Exp(0.4*s.Normal())
		clear(light)
		field(s, light, side, 0.95)
		for range channels {
			copy(colour, light)
			field(s, colour, side, 0.3)
			for _, v := range colour {
				m.Pixels = append(m.Pixels, byte(math.Round(255*min(max(mean+gain*v, 0), 1))))
			}
		}
	}
	return m
}

// computed returns the statistics of a kind.
func computed(t *testing.T, kind Map, images *data.Images) statistics {
	t.Helper()
	kind.Fold, kind.Ridge = No, 1
	d := &data.Dataset{Name: "drawn", Label: make([]int32, drawnImages), Images: images}
	r, err := kind.recipe(d)
	if err != nil {
		t.Fatal(err)
	}
	n := r.channels()
	r.matrix, r.shift, r.scale = make([]float32, n*n), make([]float32, n), 1
	for c := range n {
		r.matrix[c*n+c] = 1
	}
	value, err := r.all(context.Background(), images, drawnImages, nil)
	if err != nil {
		t.Fatal(err)
	}
	places := r.grid.rows * r.grid.columns
	partner := func(c int) int { return c - c%channels + mirrored(c%channels) }
	x, count := make([]float64, n), 0.0
	sum, products := make([]float64, n), mat.NewSymDense(n, nil)
	for i := range drawnImages {
		for at := 0; at < places; at += sparse {
			for c := range x {
				x[c] = float64(value[(i*n+c)*places+at])
				sum[c] += x[c]
			}
			products.SymRankOne(products, 1, mat.NewVecDense(n, x))
			count++
		}
	}
	s := statistics{make([]float32, n), make([]float32, n), mat.NewSymDense(n, nil)}
	covariance := func(i, j int) float64 { return products.At(i, j)/count - sum[i]/count*sum[j]/count }
	both := func(i, j int) float64 { return (covariance(i, j) + covariance(partner(i), partner(j))) / 2 }
	for i := range n {
		s.mean[i] = float32((sum[i] + sum[partner(i)]) / 2 / count)
		s.deviation[i] = float32(math.Sqrt(both(i, i)))
	}
	for i := range n {
		for j := i; j < n; j++ {
			s.correlation.SetSym(i, j, both(i, j)/math.Sqrt(both(i, i)*both(j, j)))
		}
	}
	return s
}

// The constants are those of the images that drawn draws. Other machines round differently, so that a few
// numbers may differ a little. Images of three channels are compared with PROACTIVEDP_SWEEPS only.
func TestConstants(t *testing.T) {
	var all []byte
	at := stored
	images := map[int]*data.Images{1: drawn(1, 28)}
	for _, kind := range kinds {
		n := kind.planes() * channels
		if kind.planes() == 3 && testkit.Sweeps(t) == 1 && !*writeConstants {
			at = at[storedBytes(n):]
			continue
		}
		if images[kind.planes()] == nil {
			images[kind.planes()] = drawn(kind.planes(), 32)
		}
		now := computed(t, kind, images[kind.planes()]).bytes()
		all = append(all, now...)
		if *writeConstants {
			continue
		}
		then := at[:storedBytes(n)]
		at = at[storedBytes(n):]
		for i := 0; i < 8*n; i += 4 {
			a, b := number(now[i:]), number(then[i:])
			if math.Abs(a-b) > 1e-4*math.Abs(b)+1e-7 {
				t.Errorf("%v: number %d is %v, stored is %v", kind, i/4, a, b)
			}
		}
		for i := 8 * n; i < len(then); i += 2 {
			a, b := int16(binary.LittleEndian.Uint16(now[i:])), int16(binary.LittleEndian.Uint16(then[i:]))
			if d := int(a) - int(b); d > 8 || d < -8 {
				t.Errorf("%v: correlation %d is %d, stored is %d", kind, (i-8*n)/2, a, b)
			}
		}
	}
	if *writeConstants {
		if err := os.WriteFile("constants.bin", all, 0o666); err != nil {
			t.Fatal(err)
		}
	} else if len(at) != 0 {
		t.Errorf("%d more bytes", len(at))
	}
}

func number(b []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

// The constants are a part of what a recipe means. A change needs another name of the features.
func TestConstantsArePinned(t *testing.T) {
	const want = "3fe89b6ae697e22124be0beae67acbcb293b58651f0c44b410f19eeb2ff604df"
	if got := (Map{}).Constants(); got != want {
		t.Errorf("the constants have the digest %s, want %s", got, want)
	}
	for _, kind := range kinds {
		if s := statisticsOf(kind); !bytes.Contains(stored, s.bytes()) {
			t.Errorf("%v: statistics are not written as they are read", kind)
		}
	}
}

// bytes returns the statistics as they are stored.
func (s statistics) bytes() []byte {
	var out []byte
	for _, x := range [][]float32{s.mean, s.deviation} {
		for _, v := range x {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	}
	for i := range s.mean {
		for j := i + 1; j < len(s.mean); j++ {
			out = binary.LittleEndian.AppendUint16(out, uint16(int16(math.Round(grain*s.correlation.At(i, j)))))
		}
	}
	return out
}
