package synth

import (
	"proactivedp/data"
	"proactivedp/rng"
)

// Stand-ins of images are drawn image by image, and the class of each image first. So the rows of a
// smaller set are the first rows of a larger one.

// picture describes a stand-in of images.
type picture struct {
	name           string
	place          uint32 // place of its random streams; part of the meaning of a seed
	channels, side int
	rows, train    int // numbers of rows of the real set
	// draw draws an image of a class. pixels, [channel][y][x], must be zero before.
	draw func(pixels []byte, class int, s *rng.Stream)
}

const classes = 10

// MinRows (20) and MaxRows are the limits for the number of rows that a caller may give for a random data set, for
// example to [Digits] or [Table].
const (
	MinRows = 2 * classes
	MaxRows = 100_000
)

func digits() picture {
	return picture{name: "synth-mnist", place: 2, channels: 1, side: digitSide, rows: 70_000, train: 60_000,
		draw: drawDigit}
}

func objects() picture {
	return picture{name: "synth-cifar10", place: 3, channels: 3, side: objectSide, rows: 60_000, train: 50_000,
		draw: drawObject}
}

func pictures() []picture { return []picture{digits(), objects()} }

// Digits returns "synth-mnist", a random stand-in for MNIST with the given number of rows, drawn from root: digits of
// 28×28 pixels in random handwriting, with stray strokes, gaps and noise. Six of seven rows are for training, as in
// MNIST's 70,000. It panics if rows is outside [MinRows, MaxRows].
func Digits(root *rng.Root, rows int) *data.Dataset { return digits().make(root, rows) }

// Objects returns "synth-cifar10", a random stand-in for CIFAR-10 with the given number of rows, drawn from root:
// 3×32×32 pixels of one of five shapes in one of two textures, of random size, place, rotation and colours, on a
// noisy background. Five of six rows are for training, as in CIFAR-10's 60,000. It panics if rows is outside
// [MinRows, MaxRows].
func Objects(root *rng.Root, rows int) *data.Dataset { return objects().make(root, rows) }

func (p picture) make(root *rng.Root, rows int) *data.Dataset {
	if rows < MinRows || rows > MaxRows {
		panic("synth: number of rows outside its range")
	}
	m := &data.Images{Channels: p.channels, Height: p.side, Width: p.side}
	m.Pixels = make([]byte, rows*m.Size())
	d := &data.Dataset{
		Name: p.name, Features: m.Size(), Classes: classes, Label: make([]int32, rows), Images: m,
		Train: rows * p.train / p.rows, Synthetic: true,
	}
	var s rng.Stream
	for i := range rows {
		root.Reseed(&s, rng.Synthetic, p.place, i)
		class := s.IntN(classes)
		d.Label[i] = int32(class)
		p.draw(m.Image(i), class, &s)
	}
	mean, std := m.Moments(d.Train)
	for c := range p.channels {
		m.Mean = append(m.Mean, float32(mean[c]))
		m.Std = append(m.Std, float32(std[c]))
	}
	return d
}

func between(s *rng.Stream, lo, hi float64) float64 { return lo + (hi-lo)*s.Float64() }

// speckle adds noise between -width and width to every pixel, usually small, and keeps pixels
// within a byte.
func speckle(pixels []byte, width int, s *rng.Stream) {
	var bits uint64
	for i, p := range pixels {
		if i%4 == 0 {
			bits = s.Uint64()
		}
		a, b := int(bits&0xff), int(bits>>8&0xff)
		bits >>= 16
		pixels[i] = byte(min(max(int(p)+(a-b)*width/255, 0), 255))
	}
}
