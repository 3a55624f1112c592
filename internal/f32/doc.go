// Package f32 holds the float32 kernels that training runs on. A kernel is
// serial and allocates nothing; parallelism belongs to the caller. Slices of
// unequal length panic: that is misuse of a kernel, not bad input.
//
// The loop of each kernel is its specification: an accelerated twin must give
// the same result in the same order of operations, or state its tolerance.
package f32
