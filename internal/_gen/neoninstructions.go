package main

import (
	"fmt"
	"strings"
)

// instruction describes the encoding of an instruction with register 0 everywhere, and the
// arrangement of its operands: first the result, then the sources.
type instruction struct {
	word  uint32
	shape string
}

// instructions lists the instructions of the Advanced SIMD extension that the kernels use, by name
// and arrangement of the result (Arm Architecture Reference Manual for A-profile, C7.2). With Go's
// FPCR, all of them round to nearest and keep subnormal numbers.
var instructions = map[string]instruction{
	"fadd.4s":  {0x4e20d400, "4s 4s 4s"},
	"fadd.2d":  {0x4e60d400, "2d 2d 2d"},
	"fsub.4s":  {0x4ea0d400, "4s 4s 4s"},
	"fsub.2d":  {0x4ee0d400, "2d 2d 2d"},
	"fmul.4s":  {0x6e20dc00, "4s 4s 4s"},
	"fmul.2d":  {0x6e60dc00, "2d 2d 2d"},
	"fdiv.4s":  {0x6e20fc00, "4s 4s 4s"},
	"fmax.4s":  {0x4e20f400, "4s 4s 4s"}, // NaN if a source is NaN
	"fmax.2d":  {0x4e60f400, "2d 2d 2d"},
	"fmin.4s":  {0x4ea0f400, "4s 4s 4s"},
	"fmin.2d":  {0x4ee0f400, "2d 2d 2d"},
	"fmla.4s":  {0x4e20cc00, "4s 4s 4s"}, // rounded once
	"fmla.2d":  {0x4e60cc00, "2d 2d 2d"},
	"fmla.s":   {0x4f801000, "4s 4s s[0]"},
	"fsqrt.4s": {0x6ea1f800, "4s 4s"},
	"fcmgt.4s": {0x6ea0e400, "4s 4s 4s"},
	"fcmeq.4s": {0x4e20e400, "4s 4s 4s"},
	"fcmlt.4s": {0x4ea0e800, "4s 4s #0.0"},
	"fcmle.4s": {0x6ea0d800, "4s 4s #0.0"},
	"faddp.d":  {0x7e70d800, "d 2d"}, // the sum of both

	"fcvtl.2d":  {0x0e617800, "2d 2s"},
	"fcvtl2.2d": {0x4e617800, "2d 4s"}, // of the upper half
	"fcvtn.2s":  {0x0e616800, "2s 2d"},
	"fcvtn2.4s": {0x4e616800, "4s 2d"}, // into the upper half
	"scvtf.4s":  {0x4e21d800, "4s 4s"},

	"add.4s":    {0x4ea08400, "4s 4s 4s"},
	"add.2d":    {0x4ee08400, "2d 2d 2d"},
	"sub.4s":    {0x6ea08400, "4s 4s 4s"},
	"cmeq.4s":   {0x6ea08c00, "4s 4s 4s"},
	"umin.4s":   {0x6ea06c00, "4s 4s 4s"},
	"uminv.s":   {0x6eb1a800, "s 4s"}, // the least
	"ushll.8h":  {0x2f08a400, "8h 8b #0"},
	"ushll2.8h": {0x6f08a400, "8h 16b #0"},
	"ushll.4s":  {0x2f10a400, "4s 4h #0"},
	"ushll2.4s": {0x6f10a400, "4s 8h #0"},
	"and.16b":   {0x4e201c00, "16b 16b 16b"},
	"bic.16b":   {0x4e601c00, "16b 16b 16b"}, // the bits of the first source that are 0 in the second
	"orr.16b":   {0x4ea01c00, "16b 16b 16b"},
	"orn.16b":   {0x4ee01c00, "16b 16b 16b"},
	"eor.16b":   {0x6e201c00, "16b 16b 16b"},
	"bit.16b":   {0x6ea01c00, "16b 16b 16b"}, // inserts the first source where the second has 1
	"bsl.16b":   {0x6e601c00, "16b 16b 16b"}, // the first source where the result had 1, else the second
	"dup.4s":    {0x4e040400, "4s s[0]"},
	"dup.2d":    {0x4e080400, "2d d[0]"},
	"tbl.16b":   {0x4e000000, "16b 16b 16b"}, // bytes of the first source, at the indexes in the second
	"aese.16b":  {0x4e284800, "16b 16b"},     // adds the source to the result and substitutes
	"aesmc.16b": {0x4e286800, "16b 16b"},
	"trn1.4s":   {0x4e802800, "4s 4s 4s"},
	"trn2.4s":   {0x4e806800, "4s 4s 4s"},
	"trn1.2d":   {0x4ec02800, "2d 2d 2d"},
	"trn2.2d":   {0x4ec06800, "2d 2d 2d"},
}

// shifts lists the instructions that shift by a constant: the word, the number to or from which the
// constant is added or subtracted in bits 16 to 22, and whether it is added.
var shifts = map[string]struct {
	word, base uint32
	left       bool
}{
	"shl.4s":  {0x4f005400, 32, true},
	"shl.2d":  {0x4f005400, 64, true},
	"ushr.4s": {0x6f000400, 64, false},
	"sshr.4s": {0x4f000400, 64, false},
}

// word writes an encoded instruction, with the instruction itself as a comment.
func (n *neon) word(word uint32, name string, operands ...string) {
	mnemonic, _, _ := strings.Cut(name, ".")
	fmt.Fprintf(&n.text, "\tWORD $%#08x // %s %s\n", word, mnemonic, strings.Join(operands, ", "))
}

// arranged returns a register as it is written in the comment.
func arranged(v vec, arrangement string) string {
	switch arrangement {
	case "s", "d": // a scalar
		return fmt.Sprintf("%s%d", arrangement, int(v))
	}
	return fmt.Sprintf("v%d.%s", int(v), arrangement)
}

// do writes an instruction for each register of the result.
func (n *neon) do(name string, result block, sources ...block) {
	in, ok := instructions[name]
	shape := strings.Fields(in.shape)
	constant := ""
	if last := shape[max(0, len(shape)-1):]; ok && strings.HasPrefix(last[0], "#") {
		constant, shape = last[0], shape[:len(shape)-1]
	}
	if !ok || len(shape) != 1+len(sources) {
		panic(fmt.Sprintf("%s of %d sources", name, len(sources)))
	}
	for i, to := range result {
		word, operands := in.word|uint32(to), []string{arranged(to, shape[0])}
		for j, s := range sources {
			word |= uint32(s.at(i)) << []int{5, 16}[j]
			operands = append(operands, arranged(s.at(i), shape[1+j]))
		}
		if constant != "" {
			operands = append(operands, constant)
		}
		n.word(word, name, operands...)
	}
}

// shift writes a shift by a constant for each register of the result.
func (n *neon) shift(name string, result, source block, by int) {
	s, ok := shifts[name]
	if !ok {
		panic("no shift " + name)
	}
	amount := s.base - uint32(by)
	if s.left {
		amount = s.base + uint32(by)
	}
	_, arrangement, _ := strings.Cut(name, ".")
	for i, to := range result {
		n.word(s.word|amount<<16|uint32(source.at(i))<<5|uint32(to), name, arranged(to, arrangement),
			arranged(source.at(i), arrangement), fmt.Sprintf("#%d", by))
	}
}

// readFrom loads a register from the address p + offset. offset is in bytes.
func (n *neon) readFrom(v vec, p, offset gp) {
	n.word(0x3ce06800|uint32(offset)<<16|uint32(p)<<5|uint32(v), "ldr", fmt.Sprintf("q%d", int(v)),
		fmt.Sprintf("[x%d, x%d]", int(p), int(offset)))
}
