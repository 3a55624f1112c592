package main

import (
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// split writes the kernels of matrix tiles (AMX). Go's assembler does not know their instructions,
// so they are written as bytes (Intel 64 and IA-32 Architectures Software Developer's Manual,
// volume 2). The registers in these instructions are fixed here. Each instruction declares the
// registers that it reads, so that avo does not use them for something else.
func split(k *kernels) {
	const bytes, rows = 0x0040004000400040, 0x1010101010101010 // of tiles 0 to 3, and of all 8
	m := matrix{k, readOnly(k, "sixteenRows", []U64{1, 0, bytes, bytes, 0, 0, rows, 0})}
	m.splitPairs()
	m.mulSplit()
	m.addRuns()
	m.addWindows()
}

// matrix writes kernels of matrix tiles. Each tile has 16 rows of 64 bytes, as the memory at shape
// says.
type matrix struct {
	*kernels
	shape Mem
}

const (
	matrixBytes = 1024
	matrixRow   = 64
)

// The prefixes of encodings.
const prefixNone, prefixF3, prefixF2 = 0, 2, 3

// bytes writes an instruction that the assembler does not know, and declares the registers that it
// reads.
func (m matrix) bytes(reads []Op, code ...byte) {
	for i, b := range code {
		instruction := &ir.Instruction{Opcode: "BYTE", Operands: []Op{U8(b)}}
		if i == 0 {
			instruction.Inputs = reads
		}
		m.Instruction(instruction)
	}
}

// vex returns the prefix of an instruction of the map 0F38 with the second source v.
func vex(prefix int, index, base reg.GPPhysical, v int) []byte {
	code := []byte{0xc4, 0xe2, byte((^v&15)<<3 | prefix)}
	if index != nil && index.PhysicalIndex() > 7 {
		code[1] &^= 0x40
	}
	if base != nil && base.PhysicalIndex() > 7 {
		code[1] &^= 0x20
	}
	return code
}

// move loads or stores a tile. row holds the distance of its rows in bytes.
func (m matrix) move(prefix, tile int, at, row reg.GPPhysical, disp int) {
	code := append(vex(prefix, row, at, 0), 0x4b, byte(0x84|tile<<3),
		byte(row.PhysicalIndex()&7<<3|at.PhysicalIndex()&7), byte(disp), byte(disp>>8), byte(disp>>16), byte(disp>>24))
	m.bytes([]Op{at, row}, code...)
}

func (m matrix) loadTile(tile int, at, row reg.GPPhysical, disp int) {
	m.move(prefixF2, tile, at, row, disp)
}
func (m matrix) storeTile(tile int, at, row reg.GPPhysical, disp int) {
	m.move(prefixF3, tile, at, row, disp)
}

func (m matrix) zeroTile(tile int) {
	m.bytes(nil, append(vex(prefixF2, nil, nil, 0), 0x49, byte(0xc0|tile<<3))...)
}

// multiply adds the product of two tiles to a third tile.
func (m matrix) multiply(sum, a, b int) {
	m.bytes(nil, append(vex(prefixF3, nil, nil, b), 0x5c, byte(0xc0|sum<<3|a))...)
}

// begin writes the configuration of the tiles, and end their release.
func (m matrix) begin() {
	m.LEAQ(m.shape, reg.RAX)
	m.bytes([]Op{reg.RAX}, append(vex(prefixNone, nil, nil, 0), 0x49, 0x00)...)
}

func (m matrix) end() {
	m.bytes(nil, append(vex(prefixNone, nil, nil, 0), 0x49, 0xc0)...)
	m.kernels.end()
}

// tileSide is the number of rows of a tile, and of its columns of 32 bits.
const tileSide = 16

// splitPairs writes the kernel of SplitPairs. It rounds by adding half of the last kept digit and
// truncating. After two parts, the remainder of a number has no more digits than a third part, so
// the third part is exact.
func (m matrix) splitPairs() {
	m.kernel("splitPairsAMX", "func(dst []Pair, even, odd []float32, row, pairs, parts int)",
		"does the same as SplitPairs without its checks.")
	dst, even, odd := m.base("dst"), m.base("even"), m.base("odd")
	row, pairs, parts := m.argument("row"), m.argument("pairs"), m.argument("parts")
	m.SHLQ(Imm(2), row)
	half, kept := m.ZMM(), m.ZMM()
	constant := m.GP32()
	for _, c := range []struct {
		bits uint32
		to   reg.VecVirtual
	}{{0x8000, half}, {0xffff0000, kept}} {
		m.MOVL(U32(c.bits), constant)
		m.VPBROADCASTD(constant, c.to)
	}
	m.CMPQ(parts, Imm(2))
	m.JE(LabelRef("two"))
	m.splitLoop("three", 3, dst, even, odd, row, pairs, half, kept)
	m.splitLoop("two", 2, dst, even, odd, row, pairs, half, kept)
}

func (m matrix) splitLoop(
	label string, parts int, dst, even, odd, row, pairs reg.GPVirtual, half, kept reg.VecVirtual,
) {
	m.Label(label)
	x := [2]reg.VecVirtual{m.ZMM(), m.ZMM()}
	m.VMOVUPS(Mem{Base: even}, x[0])
	m.VMOVUPS(Mem{Base: odd}, x[1])
	for p := range parts {
		part := x // the last part is the remainder
		if p < 2 {
			for i := range part {
				part[i] = m.ZMM()
				m.VPADDD(half, x[i], part[i])
				m.VPANDD(kept, part[i], part[i])
			}
		}
		pair := m.ZMM()
		m.VPSRLD(Imm(16), part[0], pair)
		if p < 2 {
			m.VPORD(part[1], pair, pair)
		} else {
			const orAnd = 0xf8 // pair or (part and kept)
			m.VPTERNLOGD(Imm(orAnd), kept, part[1], pair)
		}
		m.VMOVDQU32(pair, Mem{Base: dst, Disp: p * matrixBytes})
		if p+1 < parts {
			for i := range part {
				m.VSUBPS(part[i], x[i], x[i])
			}
		}
	}
	m.ADDQ(row, even)
	m.ADDQ(row, odd)
	m.ADDQ(Imm(matrixRow), dst)
	m.DECQ(pairs)
	m.JNZ(LabelRef(label))
	m.kernels.end()
}

// scaled loads a field that counts units of 4 bytes, and converts it to bytes.
func (m matrix) scaled(c gotypes.Component, to reg.GPPhysical) {
	m.Load(c, to)
	m.SHLQ(Imm(2), to)
}

// The block of a SplitTile has its four sums in tiles 0 to 3, two tiles of A in 4 and 5, and two of
// B in 6 and 7. R8 and R9 have the addresses of the first tiles of A and B. R10 and R11 have the
// distances to the second ones.
const (
	sumTile = 0
	tileOfA = 4
	tileOfB = 6
)

// factors loads the addresses and strides of a SplitTile's factors A and B into the registers that
// the loops use.
func (m matrix) factors(t gotypes.Component) {
	m.Load(t.Field("A").Base(), reg.R8)
	m.Load(t.Field("B").Base(), reg.R9)
	m.scaled(t.Field("DownA"), reg.R10)
	m.scaled(t.Field("RightB"), reg.R11)
	m.MOVQ(U32(matrixRow), reg.RDX)
}

func (m matrix) mulSplit() {
	m.kernel("mulSplitAMX", "func(t *SplitTile, terms []Term)", "does the same as SplitTile.Mul without its checks.")
	t := m.Dereference(m.Param("t"))
	m.begin()
	eachSum := func(do func(tile int, at, row reg.GPPhysical)) {
		m.Load(t.Field("C").Base(), reg.RAX)
		m.scaled(t.Field("DownC"), reg.RDI)
		m.scaled(t.Field("RightC"), reg.RBX)
		m.scaled(t.Field("RowC"), reg.RDX)
		do(sumTile, reg.RAX, reg.RDX)
		m.ADDQ(reg.RAX, reg.RDI)
		m.ADDQ(reg.RBX, reg.RAX)
		do(sumTile+1, reg.RAX, reg.RDX)
		do(sumTile+2, reg.RDI, reg.RDX)
		m.ADDQ(reg.RBX, reg.RDI)
		do(sumTile+3, reg.RDI, reg.RDX)
	}
	m.Load(t.Field("Accumulate"), reg.AL)
	m.TESTB(reg.AL, reg.AL)
	m.JZ(LabelRef("zero"))
	eachSum(func(tile int, at, row reg.GPPhysical) { m.loadTile(tile, at, row, 0) })
	m.JMP(LabelRef("begin"))
	m.Label("zero")
	m.zeroTiles(4)
	m.Label("begin")

	m.factors(t)
	m.Load(m.Param("terms").Base(), reg.RSI)
	m.Load(m.Param("terms").Len(), reg.RCX)
	m.steps(t, func(parts int) {
		m.MOVLQSX(Mem{Base: reg.RSI}, reg.RAX)
		m.LEAQ(Mem{Base: reg.R8, Index: reg.RAX, Scale: 4}, reg.RAX)
		m.MOVLQSX(Mem{Base: reg.RSI, Disp: termBytes / 2}, reg.RDI)
		m.LEAQ(Mem{Base: reg.R9, Index: reg.RDI, Scale: 4}, reg.RDI)
		m.MOVQ(reg.RSI, reg.RBX)
		m.LEAQ(Mem{Base: reg.RSI, Disp: termBytes}, reg.R12)
		m.CMPQ(reg.RCX, U8(1))
		m.CMOVQGT(reg.R12, reg.RBX)
		m.MOVLQSX(Mem{Base: reg.RBX, Disp: termBytes / 2}, reg.R12)
		m.LEAQ(Mem{Base: reg.R9, Index: reg.R12, Scale: 4}, reg.R12)
		m.MOVLQSX(Mem{Base: reg.RBX}, reg.RBX)
		m.LEAQ(Mem{Base: reg.R8, Index: reg.RBX, Scale: 4}, reg.RBX)
		m.step(t, parts)
		m.ADDQ(Imm(termBytes), reg.RSI)
	})
	eachSum(func(tile int, at, row reg.GPPhysical) { m.storeTile(tile, at, row, 0) })
	m.end()
}

func (m matrix) zeroTiles(n int) {
	for tile := range n {
		m.zeroTile(tile)
	}
}

// steps writes a loop over RCX steps, for a SplitTile of three parts and for one of two.
func (m matrix) steps(t gotypes.Component, body func(parts int)) {
	m.Load(t.Field("Parts"), reg.RAX)
	m.CMPQ(reg.RAX, U8(2))
	m.JE(LabelRef("two"))
	for _, parts := range []int{3, 2} {
		label := map[int]string{3: "three", 2: "two"}[parts]
		m.Label(label)
		body(parts)
		m.DECQ(reg.RCX)
		m.JNZ(LabelRef(label))
		if parts == 3 {
			m.JMP(LabelRef("store"))
		}
	}
	m.Label("store")
}

// step adds the products of the tiles at RAX and RDI to the sums. It prefetches a part of the next
// operands.
func (m matrix) step(t gotypes.Component, parts int) {
	// For each product, the part of A and the part of B, and which of them are loaded for it.
	type product struct {
		a, b         int
		loadA, loadB bool
	}
	list := []product{{0, 0, true, true}, {0, 1, false, true}, {1, 1, true, false}, {1, 0, false, true},
		{2, 0, true, false}, {0, 2, true, true}}
	if parts == 2 {
		list = []product{list[0], list[1], {1, 0, true, true}}
	}
	both := func(tile int, at, next reg.GPPhysical, part int) {
		m.loadTile(tile, at, reg.RDX, part*matrixBytes)
		m.ADDQ(next, at)
		m.loadTile(tile+1, at, reg.RDX, part*matrixBytes)
		m.SUBQ(next, at)
	}
	var lines []Mem // lines that the next step loads
	for line := range parts * matrixBytes / matrixRow {
		lines = append(lines, Mem{Base: reg.RBX, Disp: line * matrixRow},
			Mem{Base: reg.R12, Disp: line * matrixRow},
			Mem{Base: reg.RBX, Index: reg.R10, Scale: 1, Disp: line * matrixRow},
			Mem{Base: reg.R12, Index: reg.R11, Scale: 1, Disp: line * matrixRow})
	}
	some := len(lines) / (4 * len(list))
	for _, p := range list {
		if p.loadA {
			both(tileOfA, reg.RAX, reg.R10, p.a)
		}
		if p.loadB {
			both(tileOfB, reg.RDI, reg.R11, p.b)
		}
		for sum := range 4 {
			m.multiply(sumTile+sum, tileOfA+sum/2, tileOfB+sum%2)
			for _, line := range lines[:min(some, len(lines))] {
				m.PREFETCHT0(line)
			}
			lines = lines[min(some, len(lines)):]
		}
	}
	near := t.Field("near")
	m.Load(near.Field("at"), reg.RAX)
	m.Load(near.Field("row"), reg.RDI)
	m.LEAQ(Mem{Base: reg.RAX, Index: reg.RDI, Scale: 2}, reg.RBX)
	for _, at := range []Mem{{Base: reg.RAX}, {Base: reg.RAX, Index: reg.RDI, Scale: 1}, {Base: reg.RBX},
		{Base: reg.RBX, Index: reg.RDI, Scale: 1}} {
		m.PREFETCHT1(at)
		m.PREFETCHT1(at.Offset(matrixRow))
	}
	m.Load(near.Field("step"), reg.RDI)
	m.ADDQ(reg.RDI, m.address(near.Field("at")))
}

// addRuns writes the kernel that computes each run of steps of a block separately and adds it in
// float64.
func (m matrix) addRuns() {
	m.kernel("addRunsAMX", "func(t *SplitTile, runs []int, wide []float64)",
		"does the same as SplitTile.addRuns without its checks.")
	t := m.Dereference(m.Param("t"))
	m.begin()
	m.factors(t)
	m.Load(m.Param("runs").Base(), reg.RSI)
	m.Load(m.Param("runs").Len(), reg.R13)
	const row = tileCols * tileSide // row of the sums
	m.Label("run")
	m.zeroTiles(4)
	m.MOVQ(Mem{Base: reg.RSI}, reg.RCX)
	m.ADDQ(Imm(8), reg.RSI)
	m.steps(t, func(parts int) {
		m.MOVQ(reg.R8, reg.RAX)
		m.MOVQ(reg.R9, reg.RDI)
		m.ADDQ(U32(parts*matrixBytes), reg.R8)
		m.ADDQ(U32(parts*matrixBytes), reg.R9)
		m.MOVQ(reg.R8, reg.RBX)
		m.MOVQ(reg.R9, reg.R12)
		m.step(t, parts)
	})
	m.Load(t.Field("C").Base(), reg.RAX)
	m.MOVQ(U32(row*floatBytes), reg.RDX)
	for sum := range 4 {
		m.storeTile(sumTile+sum, reg.RAX, reg.RDX, (sum/2*tileSide*row+sum%2*tileSide)*floatBytes)
	}
	m.MOVQ(U32(matrixRow), reg.RDX)
	m.Load(m.Param("wide").Base(), reg.RBX)
	m.MOVQ(U32(2*tileSide), reg.RDI)
	m.Label("add")
	for i, z := range []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3} {
		to := Mem{Base: reg.RBX, Disp: i * 64}
		m.VCVTPS2PD(Mem{Base: reg.RAX, Disp: i * 32}, z)
		m.VADDPD(to, z, z)
		m.VMOVUPS(z, to)
	}
	m.ADDQ(U32(row*floatBytes), reg.RAX)
	m.ADDQ(U32(2*row*floatBytes), reg.RBX)
	m.DECQ(reg.RDI)
	m.JNZ(LabelRef("add"))
	m.DECQ(reg.R13)
	m.JNZ(LabelRef("run"))
	m.end()
}

const windows = 3

// addWindows writes the kernel of WindowTile.Add. It holds the sums in tiles 0 to 5, a tile of A in
// 6 and a tile of B in 7.
func (m matrix) addWindows() {
	m.kernel("addWindowsAMX", "func(t *WindowTile)", "does the same as WindowTile.Add without its checks.")
	t := m.Dereference(m.Param("t"))
	m.begin()
	zero := func() { m.zeroTiles(2 * windows) }
	window := func(i int, to reg.GPPhysical) {
		m.MOVQ(m.address(t.Field("Window").Index(i)), to)
		m.SHLQ(Imm(2), to)
	}
	zero()
	m.Load(t.Field("A").Base(), reg.R8)
	m.Load(t.Field("B").Base(), reg.R9)
	m.scaled(t.Field("DownA"), reg.R10)
	window(0, reg.RAX)
	m.ADDQ(reg.RAX, reg.R9)
	window(1, reg.R11)
	m.SUBQ(reg.RAX, reg.R11)
	window(2, reg.R12)
	m.SUBQ(reg.RAX, reg.R12)
	m.scaled(t.Field("LowB"), reg.R13)
	m.SUBQ(reg.R11, reg.R12) // from the second window to the third
	m.Load(t.Field("Examples"), reg.RCX)
	m.MOVQ(U32(matrixRow), reg.RDX)
	m.XORQ(reg.RBX, reg.RBX) // number of examples in the tiles

	m.Label("example")
	m.Load(t.Field("Steps"), reg.RSI)
	m.Label("step")
	m.Load(t.Field("nextA"), reg.RAX)
	m.ADDQ(reg.R8, reg.RAX)
	m.Load(t.Field("nextB"), reg.RDI)
	m.ADDQ(reg.R9, reg.RDI)
	parts := m.GP64()
	m.Load(t.Field("Parts"), parts)
	m.CMPQ(parts, Imm(2))
	m.JE(LabelRef("two"))
	m.windowStep(3)
	m.JMP(LabelRef("stepDone"))
	m.Label("two")
	m.windowStep(2)
	m.Label("stepDone")
	advance := func(a, b string) {
		m.scaled(t.Field(a), reg.RAX)
		m.ADDQ(reg.RAX, reg.R8)
		m.scaled(t.Field(b), reg.RAX)
		m.ADDQ(reg.RAX, reg.R9)
	}
	m.DECQ(reg.RSI)
	m.JZ(LabelRef("exampleDone"))
	advance("StepA", "StepB")
	m.JMP(LabelRef("step"))

	m.Label("exampleDone")
	// Go back to the example's first step, and then to the next example's.
	m.Load(t.Field("Steps"), reg.RSI)
	m.LEAQ(Mem{Base: reg.RSI, Disp: -1}, reg.RDI)
	for _, x := range []struct {
		field string
		at    reg.GPPhysical
	}{{"StepA", reg.R8}, {"StepB", reg.R9}} {
		m.scaled(t.Field(x.field), reg.RAX)
		m.IMULQ(reg.RDI, reg.RAX)
		m.SUBQ(reg.RAX, x.at)
	}
	advance("ExampleA", "ExampleB")
	m.INCQ(reg.RBX)
	m.CMPQ(reg.RSI, U8(1))
	m.JG(LabelRef("flush"))
	m.CMPQ(reg.RBX, Imm(windowRun))
	m.JE(LabelRef("flush"))
	m.CMPQ(reg.RCX, Imm(1))
	m.JE(LabelRef("flush"))
	m.DECQ(reg.RCX)
	m.JMP(LabelRef("example"))

	m.Label("flush")
	m.Load(t.Field("Work"), reg.RSI)
	const row = windows * matrixRow // row of Work
	m.MOVQ(U32(row), reg.RDX)
	for tile := range 2 * windows {
		m.storeTile(tile, reg.RSI, reg.RDX, tile/windows*tileSide*row+tile%windows*matrixRow)
	}
	m.Load(t.Field("Sum").Base(), reg.RAX)
	m.MOVQ(U32(2*tileSide), reg.RDI)
	m.Label("add")
	for i, z := range []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2} {
		at := Mem{Base: reg.RAX, Disp: i * matrixRow}
		m.VMOVUPS(at, z)
		m.VADDPS(Mem{Base: reg.RSI, Disp: i * matrixRow}, z, z)
		m.VMOVUPS(z, at)
	}
	m.ADDQ(U32(row), reg.RSI)
	m.ADDQ(U32(tileCols*tileSide*floatBytes), reg.RAX)
	m.DECQ(reg.RDI)
	m.JNZ(LabelRef("add"))
	m.MOVQ(U32(matrixRow), reg.RDX)
	zero()
	m.XORQ(reg.RBX, reg.RBX)
	m.DECQ(reg.RCX)
	m.JNZ(LabelRef("example"))
	m.end()
}

// windowStep adds the products of the tiles at R8 and R9. It prefetches the tiles of the next step
// or example, at RAX and RDI.
func (m matrix) windowStep(parts int) {
	const linesOfB = 24 // three windows of consecutive lines
	var lines []Mem
	for i := range parts * matrixBytes / matrixRow {
		lines = append(lines, Mem{Base: reg.RAX, Disp: i * matrixRow},
			Mem{Base: reg.RAX, Index: reg.R10, Scale: 1, Disp: i * matrixRow})
	}
	for i := range linesOfB {
		lines = append(lines, Mem{Base: reg.RDI, Disp: i * matrixRow})
		if parts == 3 {
			lines = append(lines, Mem{Base: reg.RDI, Index: reg.R13, Scale: 1, Disp: i * matrixRow})
		}
	}
	some := (len(lines) + 2*windows*parts - 1) / (2 * windows * parts)
	for part := range parts {
		if part == 2 {
			m.ADDQ(reg.R13, reg.R9)
		}
		for i := range 2 {
			if i == 1 {
				m.ADDQ(reg.R10, reg.R8)
			}
			m.loadTile(6, reg.R8, reg.RDX, part*matrixBytes)
			for step := range windows {
				j := step
				if i == 1 { // from back to front, beginning with the loaded window
					j = windows - 1 - step
				}
				if held := step == 0 && (i == 1 || part == 1); !held {
					m.loadTile(7, reg.R9, reg.RDX, 0)
				}
				m.multiply(i*windows+j, 6, 7)
				switch next := []reg.GPPhysical{reg.R11, reg.R12}; {
				case i == 0 && j < windows-1:
					m.ADDQ(next[j], reg.R9)
				case i == 1 && j > 0:
					m.SUBQ(next[j-1], reg.R9)
				}
				for _, line := range lines[:min(some, len(lines))] {
					m.PREFETCHT0(line)
				}
				lines = lines[min(some, len(lines)):]
			}
		}
		m.SUBQ(reg.R10, reg.R8)
	}
	if parts == 3 {
		m.SUBQ(reg.R13, reg.R9)
	}
}

// windowRun is the constant WindowRun of package f32.
const windowRun = 16
