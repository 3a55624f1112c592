// Package f32 holds the float32 kernels of training. A kernel runs in one goroutine and allocates
// nothing; the caller can run several in parallel. Slices of wrong lengths cause a panic, because
// they are a misuse of the kernel and not bad input.
//
// The portable loop of each kernel is its specification. An accelerated kernel must give the same
// result in the same order of operations, or state its tolerance. When the program starts, it
// chooses the kernels once, by what the machine supports (cpu.Detect) and the environment variable
// EnvKernels. With the build tag noasm there are only portable kernels. The generator in
// internal/_gen, which is a separate module, writes the assembly: make generate.
package f32
