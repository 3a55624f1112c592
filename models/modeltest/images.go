package modeltest

import (
	"proactivedp/data"
	"proactivedp/rng"
)

// Images returns a random data set of n images of the given size, for tests and benchmarks. Pixels and labels are
// uniform and independent, so a model cannot learn anything from them.
func Images(n, channels, height, width, classes int) *data.Dataset {
	size := channels * height * width
	s := rng.New(6).Stream(rng.Synthetic, uint32(n), size)
	m := &data.Images{Channels: channels, Height: height, Width: width, Pixels: make([]byte, n*size)}
	for i := range m.Pixels {
		m.Pixels[i] = byte(s.IntN(256))
	}
	for c := range channels { // channels are normalised differently, so that a test detects exchanged channels
		m.Mean = append(m.Mean, 0.4+0.1*float32(c%8))
		m.Std = append(m.Std, 0.3-0.02*float32(c%9))
	}
	d := &data.Dataset{Name: "drawn", Features: size, Classes: classes, Images: m, Synthetic: true}
	for range n {
		d.Label = append(d.Label, int32(s.IntN(classes)))
	}
	return d
}
