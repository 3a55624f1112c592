package nn

import "fmt"

// Precision says how exactly the numbers of a network are multiplied.
type Precision string

const (
	// Float32 is the default. Matrix tiles (the AMX instructions of some processors; see Net.Tiled) split
	// each number into three bfloat16 whose sum it is. Gradients are those of float32, to within 1e-5
	// of the sums of magnitudes.
	Float32 Precision = ""
	// BF16 rounds the numbers of products to bfloat16, which has 8 binary digits, and adds the products in
	// float32. With AVX512-BF16 this takes little more than half the time. Without it, it is slow, but gives
	// the same bits. The norm by which an example's gradient is clipped allows for the rounding, see
	// Rounding. A convolution with a stride, or with numbers of channels that are not multiples of 16,
	// remains in float32.
	BF16 Precision = "bf16"
	// BF16x3 is for matrix tiles. It splits each number into two bfloat16 and each product into three. It takes half the time.
	// A product has a relative error of up to 3·2^-16. A bound on the resulting error of an example's
	// gradient is added to the norm by which the gradient is clipped.
	BF16x3 Precision = "bf16x3"
)

// WithPrecision returns a network like n with products of the given precision.
func (n *Net) WithPrecision(p Precision) (*Net, error) {
	if p != Float32 && p != BF16 && p != BF16x3 {
		return nil, fmt.Errorf("precision = %q, must be %q, %q, or %q for float32", p, BF16, BF16x3, Float32)
	}
	var layers []Layer
	for _, l := range n.layers {
		layers = append(layers, l.Layer)
	}
	precise, err := compile(n.Input(), p, layers)
	if err != nil {
		return nil, err
	}
	if p == BF16x3 && !precise.tiled {
		return nil, fmt.Errorf("precision = %q, must be %q or %q for float32: matrix tiles compute none of this network's "+
			"products", p, BF16, Float32)
	}
	precise.weights = n.weights
	return precise, nil
}
