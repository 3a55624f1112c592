// Package nn evaluates small networks of dense and convolutional layers, and computes the sum of their clipped
// per-example gradients, as DP-SGD needs it.
//
//	net, err := nn.New(nn.Shape{Channels: 4, Height: 1, Width: 1}, // rows of 4 numbers
//		nn.Dense{Out: 16}, nn.ReLU{}, nn.Dense{Out: 3}) // 3 classes
//	...
//	model := models.NewNetwork("own", net) // package sim trains it
//
// Examples are images, or rows of numbers of the same size. In this package, a map is a feature map: one
// channel of an image or of a layer's output. A tap is one position in the kernel of a convolution.
//
// Sixteen examples (f32.Lanes) form a block. The activations of a block are stored as [channel][y][x][lane], where a
// lane is one example. So the vector code does the same operation to all examples of a block at once, and sums over
// examples are taken as late as possible. A batch is processed in chunks of a few blocks, in order. If the last block
// is short, it repeats its last example with weight 0.
//
// Per-example gradients of a whole network are never stored. There is one forward and one backward pass. How a
// layer's gradients are clipped and added depends on its kind:
//
//   - Dense layers: the gradient of an example is an outer product. Its squared norm is
//     (‖a‖²+1)‖δ‖², where a is the layer's input and δ the derivative of the loss by its output
//     (I. Goodfellow, "Efficient Per-Example Gradient Computations", arXiv:1510.01799). The sum of the
//     clipped gradients is one matrix product, with δ multiplied by the clip factors.
//   - Convolutions: the gradients are stored for one block of examples at a time. Where that would take
//     too much memory, only their norms are computed, from Gram matrices over positions ("ghost norms":
//     Z. Bu, J. Mao, S. Xu, "Scalable and Efficient Training of Large Convolutional Neural Networks with
//     Differential Privacy", arXiv:2205.10683).
//
// Products can be computed in bfloat16, in about half the time: see BF16.
//
// If the machine has matrix tiles (AMX), they compute the products of large layers. Numbers are split into
// parts for them: see Precision and Net.Tiled. The bits of the results then differ from those of other
// machines. The guarantees for the sums are the same.
//
// Everything runs in one goroutine, and results depend only on the arguments.
package nn
