// Package f32 holds the float32 kernels that training runs on. A kernel is
// serial and allocates nothing; parallelism belongs to the caller. Slices of
// unequal length panic: that is misuse of a kernel, not bad input.
//
// The portable loop of each kernel is its specification: an accelerated twin
// must give the same result in the same order of operations, or state its
// tolerance. Which twins run is decided once, when the program starts, by what
// the machine has (cpu.Detect) and the environment variable EnvKernels; the
// build tag noasm leaves the portable ones alone. The assembly is written by the
// generator in internal/_gen, a module of its own: make generate.
package f32
