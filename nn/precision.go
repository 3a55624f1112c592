package nn

import (
	"fmt"
)

// Precision says how exactly matrix tiles (the AMX instructions of some processors) multiply the
// numbers of a network. It matters only on machines that have them, and for networks that use them
// (Net.Tiled).
type Precision string

const (
	// Float32 splits each number into three bfloat16 whose sum it is. Gradients are those of
	// float32, to within 1e-5 of the sums of magnitudes.
	Float32 Precision = ""
	// BF16 rounds the numbers of products to bfloat16, which has 8 binary digits, and adds the products in
	// float32. It takes half the time on processors with AVX512-BF16, and gives the same bits on all others of
	// the same class of kernels. What is clipped and added is made of the same rounded numbers.
	BF16 Precision = "bf16"
	// BF16x3 splits each number into two bfloat16 and each product into three. It takes half the time.
	// A product has a relative error of up to 3·2^-16. A bound on the resulting error of an example's
	// gradient is added to the norm by which the gradient is clipped.
	BF16x3 Precision = "bf16x3"
)

// WithPrecision returns a network like n whose products matrix tiles compute with the given precision.
func (n *Net) WithPrecision(p Precision) (*Net, error) {
	if p != Float32 && p != BF16 && p != BF16x3 {
		return nil, fmt.Errorf("precision = %q, must be %q, %q, or %q for float32", p, BF16, BF16x3, Float32)
	}
	if !n.tiled && p == BF16x3 {
		return nil, fmt.Errorf("precision = %q, must be %q: matrix tiles compute none of this network's products", p,
			Float32)
	}
	var layers []Layer
	for _, l := range n.layers {
		layers = append(layers, l.Layer)
	}
	precise, err := compile(n.Input(), p, layers)
	if err != nil {
		return nil, err
	}
	if p == BF16 && !precise.paired {
		return nil, fmt.Errorf("precision = %q, must be %q: there are no products in bfloat16 in this network", p, Float32)
	}
	precise.weights = n.weights
	return precise, nil
}
