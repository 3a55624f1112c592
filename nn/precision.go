package nn

import (
	"fmt"

	"proactivedp/internal/f32"
)

// Precision says how exactly matrix tiles (the AMX instructions of some processors) multiply the
// numbers of a network. It matters only on machines that have them, and for networks that use them
// (Net.Tiled).
type Precision string

const (
	// Float32 splits each number into three bfloat16 whose sum it is. Gradients are those of
	// float32, to within 1e-5 of the sums of magnitudes.
	Float32 Precision = ""
	// BF16x3 splits each number into two bfloat16 and each product into three. It takes half the time.
	// A product has a relative error of up to 3·2^-16. A bound on the resulting error of an example's
	// gradient is added to the norm by which the gradient is clipped.
	BF16x3 Precision = "bf16x3"
)

// WithPrecision returns a network like n whose products matrix tiles compute with the given precision.
func (n *Net) WithPrecision(p Precision) (*Net, error) {
	parts := map[Precision]int{Float32: f32.ThreeParts, BF16x3: f32.TwoParts}[p]
	if parts == 0 {
		return nil, fmt.Errorf("precision = %q, must be %q, or %q for float32", p, BF16x3, Float32)
	}
	if !n.tiled && p != Float32 {
		return nil, fmt.Errorf("precision = %q, must be %q: matrix tiles compute none of this network's products", p,
			Float32)
	}
	var layers []Layer
	for _, l := range n.layers {
		layers = append(layers, l.Layer)
	}
	precise, err := compile(n.Input(), parts, layers)
	if err != nil {
		return nil, err
	}
	precise.weights = n.weights
	return precise, nil
}
