package main

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path"
	"slices"
	"strings"
)

// neon is a file of arm64 functions that is being written. avo supports only amd64, and Go's
// assembler lacks most vector instructions. So instructions are written as words, each with its
// name in a comment. The functions use only what both Linux and Darwin allow a leaf function: no
// frame, and none of R16 to R18 and R26 to R30.
type neon struct {
	pkg         *types.Package
	text, stubs strings.Builder
	// For the current function: the offsets of its arguments, and the registers in use.
	arguments  map[string]int
	size       int
	vecs, gps  [32]bool
	labelsMade int
}

// vec and gp are registers, of 128 and of 64 bits.
type (
	vec int
	gp  int
)

func (v vec) String() string { return fmt.Sprintf("F%d", int(v)) }
func (r gp) String() string  { return fmt.Sprintf("R%d", int(r)) }

// block is a list of registers for which an instruction is repeated. As a source, a single register
// is used for every repetition.
type block []vec

func (b block) at(i int) vec {
	if len(b) == 1 {
		return b[0]
	}
	return b[i]
}

// vecBytes is the size of a register. quads is the number of registers for a vector of 16 floats.
const (
	vecBytes = 16
	quads    = laneBytes / vecBytes
)

// The arm64 registers that a function may use. The others belong to the assembler, the system and
// Go.
var general = []gp{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22, 23, 24, 25}

func (n *neon) gp() gp {
	for _, r := range general {
		if !n.gps[r] {
			n.gps[r] = true
			return r
		}
	}
	panic("no register left")
}

// block takes free registers.
func (n *neon) block(size int) block {
	var b block
	for i := range n.vecs {
		if len(b) < size && !n.vecs[i] {
			n.vecs[i] = true
			b = append(b, vec(i))
		}
	}
	if len(b) < size {
		panic("no vector register left")
	}
	return b
}

// vector takes registers for 16 floats.
func (n *neon) vector() block { return n.block(quads) }

// scope frees the registers that the body takes.
func (n *neon) scope(body func()) {
	vecs, gps := n.vecs, n.gps
	body()
	n.vecs, n.gps = vecs, gps
}

// op writes an instruction of Go's assembler.
func (n *neon) op(name string, operands ...any) {
	words := make([]string, len(operands))
	for i, o := range operands {
		words[i] = fmt.Sprint(o)
	}
	fmt.Fprintf(&n.text, "\t%s %s\n", name, strings.Join(words, ", "))
}

// label returns a name that the function has not used.
func (n *neon) label(what string) string {
	n.labelsMade++
	return fmt.Sprintf("%s%d", what, n.labelsMade)
}

func (n *neon) place(label string) { fmt.Fprintf(&n.text, "%s:\n", label) }

// at returns the operand for an address the given number of bytes after a pointer.
func at(p gp, bytes int) string {
	if bytes == 0 {
		return fmt.Sprintf("(%v)", p)
	}
	return fmt.Sprintf("%d(%v)", bytes, p)
}

func immediate(v int) string { return fmt.Sprintf("$%d", v) }

// kernel begins a function, whose signature is written as in its package.
func (n *neon) kernel(name, signature, doc string) {
	value, err := types.Eval(token.NewFileSet(), n.pkg, token.NoPos, signature)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	n.arguments, n.size, n.vecs, n.gps, n.labelsMade = map[string]int{}, 0, [32]bool{}, [32]bool{}, 0
	s := value.Type.(*types.Signature)
	for v := range s.Params().Variables() {
		n.argument(v.Name(), v.Type())
	}
	if s.Results().Len() > 0 {
		n.size = (n.size + 7) &^ 7
	}
	for v := range s.Results().Variables() {
		if v.Name() == "" {
			v = types.NewVar(token.NoPos, n.pkg, "ret", v.Type())
		}
		n.argument(v.Name(), v.Type())
	}
	declaration := "func " + name + strings.TrimPrefix(signature, "func")
	fmt.Fprintf(&n.text, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", declaration, name, n.size)
	comment := strings.ReplaceAll(name+" "+doc, "\n", "\n// ")
	fmt.Fprintf(&n.stubs, "\n// %s\n//\n//go:noescape\n%s\n", comment, declaration)
}

// sizes are the sizes of types on arm64.
var sizes = types.SizesFor("gc", "arm64")

// argument records the offsets of an argument or result, and of its parts.
func (n *neon) argument(name string, t types.Type) {
	align := int(sizes.Alignof(t))
	n.size = (n.size + align - 1) / align * align
	n.arguments[name] = n.size
	switch u := t.Underlying().(type) {
	case *types.Slice:
		n.arguments[name+"_base"], n.arguments[name+"_len"] = n.size, n.size+8
	case *types.Struct:
		for field, offset := range offsets(u) {
			n.arguments[name+"_"+field] = n.size + offset
		}
	}
	n.size += int(sizes.Sizeof(t))
}

// operand returns the operand for an argument, a part of one (x_len, p_H) or a result.
func (n *neon) operand(name string) string {
	offset, ok := n.arguments[name]
	if !ok {
		panic("no argument " + name)
	}
	return fmt.Sprintf("%s+%d(FP)", name, offset)
}

// load reads an argument of 64 bits.
func (n *neon) load(name string) gp {
	r := n.gp()
	n.op("MOVD", n.operand(name), r)
	return r
}

// field returns the offset of a field in a struct type of the package.
func (n *neon) field(typeName, name string) int {
	offset, ok := offsets(n.pkg.Scope().Lookup(typeName).Type().Underlying().(*types.Struct))[name]
	if !ok {
		panic("no field " + name)
	}
	return offset
}

// offsets returns the offset of each field.
func offsets(s *types.Struct) map[string]int {
	fields, all := slices.Collect(s.Fields()), map[string]int{}
	for i, offset := range sizes.Offsetsof(fields) {
		all[fields[i].Name()] = int(offset)
	}
	return all
}

// loop repeats the body count times, count ≥ 0, counting it down.
func (n *neon) loop(count gp, body func()) {
	again, done := n.label("again"), n.label("done")
	n.op("CBZ", count, done)
	n.place(again)
	n.scope(body)
	n.op("SUB", "$1", count)
	n.op("CBNZ", count, again)
	n.place(done)
}

// vectors loops over the vectors of 16 floats of a slice.
func (n *neon) vectors(slice string, body func()) {
	count := n.load(slice + "_len")
	n.op("LSR", "$4", count)
	n.loop(count, body)
}

// advance increases pointers by a number of bytes.
func (n *neon) advance(bytes int, pointers ...gp) {
	for _, p := range pointers {
		n.op("ADD", immediate(bytes), p)
	}
}

// scale multiplies registers by a power of two.
func (n *neon) scale(shift int, registers ...gp) {
	for _, r := range registers {
		n.op("LSL", immediate(shift), r)
	}
}

// read and write copy a block from and to memory without reordering.
func (n *neon) read(b block, p gp, bytes int) block {
	for i := range b {
		switch offset := bytes + i*vecBytes; {
		case len(b)%2 > 0:
			n.op("FMOVQ", at(p, offset), b[i])
		case i%2 == 0:
			n.op("FLDPQ", at(p, offset), fmt.Sprintf("(%v, %v)", b[i], b[i+1]))
		}
	}
	return b
}

func (n *neon) write(b block, p gp, bytes int) {
	for i := range b {
		switch offset := bytes + i*vecBytes; {
		case len(b)%2 > 0:
			n.op("FMOVQ", b[i], at(p, offset))
		case i%2 == 0:
			n.op("FSTPQ", fmt.Sprintf("(%v, %v)", b[i], b[i+1]), at(p, offset))
		}
	}
}

// table returns a pointer to a Go table.
func (n *neon) table(name string) gp {
	r := n.gp()
	n.op("MOVD", "$·"+name+"(SB)", r)
	return r
}

// splat fills a register with number i of a table of float32, and splatWide with one of float64.
func (n *neon) splat(table gp, i int) block     { return n.filled("FMOVS", "dup.4s", at(table, 4*i)) }
func (n *neon) splatWide(table gp, i int) block { return n.filled("FMOVD", "dup.2d", at(table, 8*i)) }

// splatArgument and splatWideArgument fill a register with an argument.
func (n *neon) splatArgument(name string) block { return n.filled("FMOVS", "dup.4s", n.operand(name)) }
func (n *neon) splatWideArgument(name string) block {
	return n.filled("FMOVD", "dup.2d", n.operand(name))
}

func (n *neon) filled(load, dup, from string) block {
	b := n.block(1)
	n.op(load, from, b[0])
	n.do(dup, b, b)
	return b
}

// splatBits fills a register with an integer of 32 bits.
func (n *neon) splatBits(v uint32) block {
	b := n.block(1)
	n.scope(func() {
		r := n.gp()
		n.op("MOVD", fmt.Sprintf("$%#x", v), r)
		n.op("VDUP", r, fmt.Sprintf("V%d.S4", int(b[0])))
	})
	return b
}

func (n *neon) clear(b block) {
	for i := range b {
		n.do("eor.16b", b[i:i+1], b[i:i+1], b[i:i+1])
	}
}

func (n *neon) zeros(size int) block {
	b := n.block(size)
	n.clear(b)
	return b
}

func (n *neon) copied(b block) block {
	c := n.block(len(b))
	n.do("orr.16b", c, b, b)
	return c
}

// writeTo writes the file and the declarations of its functions.
func (n *neon) writeTo(folder, name string) error {
	head := fmt.Sprintf("// Code generated by command: go run . %s. DO NOT EDIT.\n\n//go:build !noasm\n\n", name)
	for suffix, text := range map[string]string{
		"_arm64.s":  head + "#include \"textflag.h\"\n" + n.text.String(),
		"_arm64.go": head + "package " + path.Base(folder) + "\n" + n.stubs.String(),
	} {
		if err := os.WriteFile(path.Join(folder, name+suffix), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
