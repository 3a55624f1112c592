package main

import (
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs writes the kernels of pairs of bfloat16 (AVX512-BF16). Those of Tile are the kernels of
// AVX-512 with another multiplication.
func pairs(k *kernels) {
	k.patches("tilesBF16", "Tile.MulPatches for n patches of pairs", tileRows, tileCols, form{pairs: true})
	k.patches("laneTilesBF16", "LaneTile.MulPatches for n patches of pairs", laneTileRows, laneTileCols,
		form{lanes: true, pairs: true})
	k.fullTile("fullTileBF16", " of pairs", form{pairs: true})
	k.tile("tileRunsBF16", "run int, factor *float32",
		"does the same as Tile.MulRuns of pairs without its checks. factor is the factor of the first run.",
		form{pairs: true}, (*contraction).runs)
	k.tile("tileWideBF16", "lengths []int, wide []float64, wideRow int",
		"does the same as Tile.MulWide of pairs without its checks.", form{pairs: true}, (*contraction).wideRuns)
	order := interleave(k)
	k.pair(order)
	k.pairRow()
	k.roundToBF16(order)
}

// The instructions of AVX512-BF16, which Go's assembler does not know: the prefix and the opcode of
// the map 0F38, for vectors of 512 bits.
var bf16Codes = map[string]struct{ prefix, opcode byte }{
	"VDPBF16PS":      {prefixF3, 0x52},
	"VCVTNE2PS2BF16": {prefixF2, 0x72},
}

// dotPairs adds to each number of sum the product of the upper numbers of a pair of x and of y, and
// then that of the lower ones.
func (k *kernels) dotPairs(x, y, sum reg.VecVirtual) {
	k.Instruction(&ir.Instruction{Opcode: "VDPBF16PS", Operands: []operand.Op{x, y, sum},
		Inputs: []operand.Op{x, y, sum}, Outputs: []operand.Op{sum}})
}

// narrow sets to to the numbers of low, rounded to bfloat16, and those of high after them.
func (k *kernels) narrow(low, high, to reg.VecVirtual) {
	k.Instruction(&ir.Instruction{Opcode: "VCVTNE2PS2BF16", Operands: []operand.Op{low, high, to},
		Inputs: []operand.Op{low, high}, Outputs: []operand.Op{to}})
}

// encodeBF16 replaces the instructions of bf16Codes by their bytes. It must run when the registers
// are known.
func encodeBF16(file *ir.File) {
	for _, f := range file.Functions() {
		var nodes []ir.Node
		for _, n := range f.Nodes {
			i, ok := n.(*ir.Instruction)
			code, known := bf16Codes[opcode(i, ok)]
			if !known {
				nodes = append(nodes, n)
				continue
			}
			var number [3]byte
			for j, op := range i.Operands {
				number[j] = byte(op.(reg.Physical).PhysicalIndex())
			}
			second, first, to := number[0], number[1], number[2]
			bit := func(x, n byte) byte { return ^x >> n & 1 } // inverted
			for _, b := range []byte{0x62,
				bit(to, 3)<<7 | bit(second, 4)<<6 | bit(second, 3)<<5 | bit(to, 4)<<4 | 2,
				(^first&15)<<3 | 1<<2 | code.prefix,
				2<<5 | bit(first, 4)<<3,
				code.opcode, 3<<6 | to&7<<3 | second&7} {
				nodes = append(nodes, &ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
			}
		}
		f.Nodes = nodes
	}
}

func opcode(i *ir.Instruction, ok bool) string {
	if !ok {
		return ""
	}
	return i.Opcode
}

// interleave writes the indices by which VPERMW makes pairs of the numbers in the lower and in the
// upper half of a register.
func interleave(k *kernels) operand.Mem {
	var words []operand.U32
	for i := range operand.U32(laneBytes / floatBytes) {
		words = append(words, i|(i+laneBytes/floatBytes)<<16)
	}
	return readOnly(k, "interleave", words)
}

// pair writes the kernel of Pair.
func (k *kernels) pair(table operand.Mem) {
	k.kernel("pairBF16", "func(dst []float32, dstStep int, even, odd []float32, step, n int)",
		"does the same as Pair for n > 0 vectors, without its checks.")
	dst, even, odd := k.base("dst"), k.base("even"), k.base("odd")
	dstStep, step, n := k.argument("dstStep"), k.argument("step"), k.argument("n")
	k.SHLQ(operand.U8(2), dstStep)
	k.SHLQ(operand.U8(2), step)
	order, low, high := k.ZMM(), k.ZMM(), k.ZMM()
	k.VMOVUPS(table, order)
	k.Label("loop")
	k.VMOVUPS(operand.Mem{Base: even}, low)
	k.VMOVUPS(operand.Mem{Base: odd}, high)
	k.narrow(low, high, low)
	k.VPERMW(low, order, low)
	k.VMOVUPS(low, operand.Mem{Base: dst})
	k.ADDQ(dstStep, dst)
	k.ADDQ(step, even)
	k.ADDQ(step, odd)
	k.DECQ(n)
	k.JNZ(operand.LabelRef("loop"))
	k.end()
}

// pairRow writes the kernel of PairRow.
func (k *kernels) pairRow() {
	k.kernel("pairRowBF16", "func(dst, src []float32)",
		"does the same as PairRow for whole vectors of dst, without its checks. dst must not be empty.")
	dst, src, n := k.base("dst"), k.base("src"), k.length("dst")
	low, high := k.ZMM(), k.ZMM()
	k.Label("loop")
	k.VMOVUPS(operand.Mem{Base: src}, low)
	k.VMOVUPS(operand.Mem{Base: src, Disp: laneBytes}, high)
	k.narrow(low, high, low)
	k.VMOVUPS(low, operand.Mem{Base: dst})
	k.ADDQ(operand.U8(laneBytes), dst)
	k.ADDQ(operand.U32(2*laneBytes), src)
	k.SUBQ(operand.U8(laneBytes/floatBytes), n)
	k.JNZ(operand.LabelRef("loop"))
	k.end()
}

// roundToBF16 writes the kernel of RoundToBF16: pairs of 0 and the numbers.
func (k *kernels) roundToBF16(table operand.Mem) {
	k.kernel("roundToBF16", "func(x []float32)",
		"does the same as RoundToBF16 for whole vectors, without its checks. x must not be empty.")
	x, n := k.base("x"), k.length("x")
	order, zero, v := k.ZMM(), k.ZMM(), k.ZMM()
	k.VMOVUPS(table, order)
	k.VPXORD(zero, zero, zero)
	k.Label("loop")
	k.VMOVUPS(operand.Mem{Base: x}, v)
	k.narrow(zero, v, v)
	k.VPERMW(v, order, v)
	k.VMOVUPS(v, operand.Mem{Base: x})
	k.ADDQ(operand.U8(laneBytes), x)
	k.SUBQ(operand.U8(laneBytes/floatBytes), n)
	k.JNZ(operand.LabelRef("loop"))
	k.end()
}
