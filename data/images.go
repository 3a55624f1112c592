package data

// Images is the content of a Dataset of pictures, all of one size.
type Images struct {
	Channels, Height, Width int
	// Pixels holds one image after another, each [channel][y][x].
	Pixels []byte
	// Mean and Std normalise, one a channel: a model sees (p/255 − Mean)/Std for
	// the pixel p.
	Mean, Std []float32
}

// Size returns the number of pixels of one image, all channels.
func (m *Images) Size() int { return m.Channels * m.Height * m.Width }

// Image returns the pixels of image i, which alias m and must not be written.
func (m *Images) Image(i int) []byte {
	n := m.Size()
	return m.Pixels[i*n : (i+1)*n : (i+1)*n]
}
