package nn

import (
	"fmt"

	"proactivedp/internal/f32"
)

// Precision says of what numbers matrix tiles make a network's products. It matters
// where the machine has tiles, and to networks that are Tiled.
type Precision string

const (
	// Float32 takes each number apart into three bfloat16, whose sum it is: gradients are
	// those of float32, to 1e-5 of the sums of magnitudes.
	Float32 Precision = ""
	// BF16x3 takes each number apart into two bfloat16 and a product into three: a product
	// is off by up to 3·2^-16 of it, and made in half the time. What that adds to an
	// example's gradient is added to the norm that it is clipped by.
	BF16x3 Precision = "bf16x3"
)

// WithPrecision returns the network with products of the given numbers.
func (n *Net) WithPrecision(p Precision) (*Net, error) {
	parts := map[Precision]int{Float32: f32.ThreeParts, BF16x3: f32.TwoParts}[p]
	if parts == 0 {
		return nil, fmt.Errorf("precision = %q, must be %q, or %q for that of float32", p, BF16x3, Float32)
	}
	if !n.tiled && p != Float32 {
		return nil, fmt.Errorf("precision = %q, must be %q: matrix tiles make none of the network's products", p,
			Float32)
	}
	var layers []Layer
	for _, l := range n.layers {
		layers = append(layers, l.Layer)
	}
	return compile(n.Input(), parts, layers)
}
