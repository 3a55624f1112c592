// Package nn evaluates small convolutional networks and the sum of their
// clipped per-example gradients.
//
//	net, err := nn.New(nn.Shape{Channels: 4, Height: 1, Width: 1}, // rows of 4 numbers
//		nn.Dense{Out: 16}, nn.ReLU{}, nn.Dense{Out: 3}) // 3 classes
//	...
//	model := models.NewNetwork("own", net) // to be trained by package sim
//
// Examples are images, or rows of numbers of the same size.
//
// Sixteen examples (f32.Lanes) form a block and lie side by side: a map is
// [channel][y][x][lane], so that every kernel does the same to all of them and
// nothing is reduced across examples before it must be. A batch is worked off in
// chunks of a few blocks, in order; a short last block repeats its last example
// with weight 0.
//
// Per-example gradients are never held as such. A dense layer's norm is that of
// an outer product, (‖a‖²+1)‖δ‖² with a the layer's input and δ the loss's
// derivative by its output (I. Goodfellow, "Efficient Per-Example Gradient
// Computations", arXiv:1510.01799), and its clipped sum one matrix product with
// δ scaled by the clip factors. A convolution's gradients stay in lanes for one
// block at a time, or, where that would be large, their norms come from Gram
// matrices over positions ("ghost norms": Z. Bu, J. Mao, S. Xu, "Scalable and
// Efficient Training of Large Convolutional Neural Networks with Differential
// Privacy", arXiv:2205.10683). Either way there is one forward and one
// backward pass.
//
// Where the machine has matrix tiles (AMX), they make the products of large layers from
// numbers taken apart: see Precision and Net.Tiled. Which bits a network gives then
// depends on that class of kernels; what is promised of its sums does not.
//
// Everything is serial, and its result depends on nothing but the arguments.
package nn
