package main

import "github.com/mmcloughlin/avo/reg"

// state writes the kernel of package cpu.
func state(k *kernels) {
	k.kernel("enabledState", "func() uint32",
		"returns the lower half of XCR0: which parts of the registers the system saves.")
	k.XORL(reg.ECX, reg.ECX)
	k.XGETBV()
	k.Store(reg.EAX, k.ReturnIndex(0))
	k.RET()
}
