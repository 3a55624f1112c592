// Package f32 holds the float32 kernels of training: the inner loops of networks and linear models. A kernel runs in
// one goroutine and allocates nothing; the caller can run several in parallel. A slice of the wrong length is a
// mistake of the caller, and causes a panic.
//
// The portable loop of each kernel is its specification. An accelerated kernel must give the same
// result in the same order of operations, or state its tolerance. When the program starts, it
// chooses the kernels once, by what the machine supports (cpu.Detect) and the environment variable
// EnvKernels. With the build tag noasm there are only portable kernels. The generator in
// internal/_gen, which is a separate module, writes the assembly: make generate.
package f32
