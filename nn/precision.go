package nn

import "fmt"

// Precision says how exactly the numbers of a network are multiplied. Float32 is the default. BF16 rounds them to
// bfloat16. BF16x3 represents each number by two bfloat16, and a product of two numbers by three products of these
// parts. Both are less exact, and faster on some processors. Choose one with [Net.WithPrecision].
type Precision string

const (
	// Float32 is the default. Where matrix tiles (the AMX instructions of some processors; see Net.Tiled) compute a
	// product, they split each number into three bfloat16 that add up to it. Gradients then equal those of plain
	// float32 to within 1e-5 of the sums of magnitudes.
	Float32 Precision = ""
	// BF16 rounds the factors of each product to bfloat16 (8 significant bits) and adds the products in float32. A
	// processor with the instructions AVX512-BF16 needs little more than half the time of Float32. Other processors
	// compute the same bits, but more slowly than with Float32. Rounding does not weaken the privacy guarantee: the
	// norm by which an example's gradient is clipped allows for it (see [Rounding]). A convolution with a stride, or
	// with a number of channels that is not a multiple of 16, still uses Float32.
	BF16 Precision = "bf16"
	// BF16x3 is for machines with matrix tiles (AMX), where it takes about half the time of Float32. It splits each
	// number into two bfloat16, and computes a product of two numbers as three products of these parts. A product has
	// a relative error of up to 3·2^-16. So that this does not weaken the privacy guarantee, a bound on the resulting
	// error of an example's gradient is added to the norm by which the gradient is clipped.
	BF16x3 Precision = "bf16x3"
)

// WithPrecision returns a network like n that multiplies numbers with precision p. It returns an error for an unknown
// p. For [BF16x3] it returns an error if [Net.Tiled] is false: this precision only changes the matrix products that
// are computed with matrix tiles (AMX instructions), and the network then has none.
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
