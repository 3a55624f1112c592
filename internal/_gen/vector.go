package main

import (
	"fmt"
	"slices"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Predicates of VCMPPS, quiet. All except notLE are false for NaN.
const (
	notLE   = 0x16
	greater = 0x1e
	isNaN   = 3
)

// laneBytes is the size of a vector of 16 floats.
const laneBytes = 64

// simd writes a kernel for one instruction class.
type simd struct {
	*kernels
	class string
	bytes int // size of a register
}

func (s simd) wide() bool { return s.bytes == 64 }

func (s simd) reg() reg.VecVirtual {
	switch s.bytes {
	case 64:
		return s.ZMM()
	case ymmBytes:
		return s.YMM()
	}
	return s.XMM()
}

// parts returns registers for a vector of 16 floats.
func (s simd) parts() []reg.VecVirtual {
	r := make([]reg.VecVirtual, laneBytes/s.bytes)
	for i := range r {
		r[i] = s.reg()
	}
	return r
}

// vector loads a vector of 16 floats.
func (s simd) vector(at reg.GPVirtual) []reg.VecVirtual {
	r := s.parts()
	for i := range r {
		s.VMOVUPS(s.at(at, i), r[i])
	}
	return r
}

func (s simd) zero() reg.VecVirtual {
	r := s.reg()
	if s.wide() {
		s.VPXORD(r, r, r)
	} else {
		s.VXORPS(r, r, r)
	}
	return r
}

// at returns the address of part i of the vector at p.
func (s simd) at(p reg.Register, i int) Mem { return Mem{Base: p, Disp: i * s.bytes} }

func (s simd) load(m Mem) reg.VecVirtual {
	r := s.reg()
	s.VMOVUPS(m, r)
	return r
}

// broadcast fills a register with a float32 argument.
func (s simd) broadcast(name string) reg.VecVirtual {
	r := s.reg()
	s.VBROADCASTSS(s.address(s.Param(name)), r)
	return r
}

// advance increases pointers by a number of bytes.
func (s simd) advance(bytes uint64, pointers ...reg.GPVirtual) {
	for _, p := range pointers {
		s.ADDQ(Imm(bytes), p)
	}
}

// loop repeats the body n times, n ≥ 0, counting n down.
func (s simd) loop(label string, n reg.GPVirtual, body func()) {
	s.TESTQ(n, n)
	s.JZ(LabelRef(label + "Done"))
	s.Label(label)
	body()
	s.DECQ(n)
	s.JNZ(LabelRef(label))
	s.Label(label + "Done")
}

// registers loops over the registers that the slice fills. It advances the pointers, which are to
// slices of equal lengths.
func (s simd) registers(slice string, pointers []reg.GPVirtual, body func()) {
	s.loop("next", s.count(slice), func() {
		body()
		s.advance(uint64(s.bytes), pointers...)
	})
}

// count returns the number of registers that the slice fills.
func (s simd) count(slice string) reg.GPVirtual {
	n := s.length(slice)
	s.SHRQ(Imm(uint64(map[int]int{32: 3, 64: 4}[s.bytes])), n)
	return n
}

// registersTogether does the same as registers, with some registers at a time, and the rest one by
// one. The body processes register i after the pointers.
func (s simd) registersTogether(slice string, pointers []reg.GPVirtual, some int, body func(i int)) {
	n := s.count(slice)
	for _, count := range []int{some, 1} {
		next, done := fmt.Sprint("next", count), fmt.Sprint("done", count)
		s.CMPQ(n, Imm(uint64(count)))
		s.JLT(LabelRef(done))
		s.Label(next)
		s.together(count, body)
		for _, p := range pointers {
			s.ADDQ(U32(count*s.bytes), p)
		}
		s.SUBQ(Imm(uint64(count)), n)
		s.CMPQ(n, Imm(uint64(count)))
		s.JGE(LabelRef(next))
		s.Label(done)
	}
}

// together writes n bodies interleaved: the first instruction of each, then the second of each, and
// so on. If a body is a long chain in which every instruction waits for the previous one, a
// processor otherwise cannot hold enough of the others to use the time.
func (k *kernels) together(n int, body func(i int)) {
	file, _ := k.Result()
	functions := file.Functions()
	f := functions[len(functions)-1]
	start := len(f.Nodes)
	for i := range n {
		body(i)
	}
	bodies := slices.Clone(f.Nodes[start:])
	length := len(bodies) / n
	for i := range bodies {
		f.Nodes[start+i] = bodies[i%n*length+i/n]
	}
}

// vectors loops over the whole vectors of 16 floats of the slice.
func (s simd) vectors(slice string, body func()) {
	n := s.length(slice)
	s.SHRQ(Imm(4), n)
	s.loop("next", n, body)
}

// rest processes the floats of the slice after its whole vectors, with a mask of one bit for each
// float. For classes without masks it writes nothing.
func (s simd) rest(slice string, body func(mask reg.OpmaskVirtual)) {
	if !s.wide() {
		return
	}
	n := s.length(slice)
	s.ANDQ(Imm(laneBytes/4-1), n)
	s.JZ(LabelRef("restDone"))
	body(s.lowest(n))
	s.Label("restDone")
}

// lowest returns a mask of the lowest n < 32 bits.
func (s simd) lowest(n reg.GPVirtual) reg.OpmaskVirtual {
	all, mask := s.GP32(), s.K()
	s.XORL(all, all)
	s.BTSL(n.As32(), all)
	s.DECL(all)
	s.KMOVD(all, mask)
	return mask
}

// upper returns the mask of the upper half of a vector.
func (s simd) upper(mask reg.OpmaskVirtual) reg.OpmaskVirtual {
	k := s.K()
	s.KSHIFTRW(Imm(laneBytes/8), mask, k)
	return k
}

// goTable returns the address of a Go table.
func goTable(name string) Mem { return NewDataAddr(Symbol{Name: "·" + name}, 0) }

// constant fills a register with a number of a table of 32-bit numbers.
func (s simd) constant(table Mem, i int) reg.VecVirtual {
	r := s.reg()
	s.VBROADCASTSS(table.Offset(4*i), r)
	return r
}

// table returns the numbers of a table. They are kept in registers if there are 32 registers,
// otherwise loaded at every use.
func (s simd) table(at Mem, size int) func(i int) reg.VecVirtual {
	if !s.wide() {
		return func(i int) reg.VecVirtual { return s.constant(at, i) }
	}
	held := make([]reg.VecVirtual, size)
	for i := range held {
		held[i] = s.constant(at, i)
	}
	return func(i int) reg.VecVirtual { return held[i] }
}

// horner returns c[last] z^k + … + c[first], unfused.
func (s simd) horner(z reg.VecVirtual, c func(int) reg.VecVirtual, first, last int) reg.VecVirtual {
	p := s.reg()
	s.VMULPS(z, c(last), p)
	s.VADDPS(c(last-1), p, p)
	for i := last - 2; i >= first; i-- {
		s.VMULPS(z, p, p)
		s.VADDPS(c(i), p, p)
	}
	return p
}

func (s simd) relu() {
	x, zero := s.base("x"), s.zero()
	s.registers("x", []reg.GPVirtual{x}, func() {
		v := s.reg()
		s.VMAXPS(s.at(x, 0), zero, v) // returns the second source if one is NaN
		s.VMOVUPS(v, s.at(x, 0))
	})
}

func (s simd) reluBack() {
	d, y, zero := s.base("d"), s.base("y"), s.zero()
	s.registers("d", []reg.GPVirtual{d, y}, func() {
		v := s.load(s.at(y, 0))
		if s.wide() {
			keep := s.K()
			s.VCMPPS(Imm(notLE), zero, v, keep)
			s.VMOVUPS_Z(s.at(d, 0), keep, v)
		} else {
			s.VCMPPS(Imm(notLE), zero, v, v)
			s.VANDPS(s.at(d, 0), v, v)
		}
		s.VMOVUPS(v, s.at(d, 0))
	})
}

func (s simd) tanh() {
	x, c := s.base("x"), s.table(goTable("expTable"), 15)
	some := 2
	if s.wide() {
		some = 4
	}
	s.registersTogether("x", []reg.GPVirtual{x}, some, func(i int) {
		v := s.reg()
		s.clamp(s.at(x, i), c(0), c(1), v)
		s.VADDPS(v, v, v)
		r, k := s.expm1(v, c)
		s.timesPowerOf2(r, k, c)
		s.VSUBPS(c(13), k, k)
		s.VADDPS(k, r, r)
		s.VADDPS(c(14), r, k)
		s.VDIVPS(k, r, r)
		s.VMOVUPS(r, s.at(x, i))
	})
}

func (s simd) exp() {
	x, c := s.base("x"), s.table(goTable("expTable"), 15)
	s.registers("x", []reg.GPVirtual{x}, func() {
		v, half := s.reg(), s.reg()
		s.clamp(s.at(x, 0), c(2), c(3), v)
		r, k := s.expm1(v, c)
		s.VADDPS(c(13), r, r)
		s.VPSRAD(Imm(1), k, half)
		s.VPSUBD(half, k, k)
		s.timesPowerOf2(r, half, c)
		s.timesPowerOf2(r, k, c)
		s.VMOVUPS(r, s.at(x, 0))
	})
}

// expm1 returns r and the integers k with e^v = 2^k·(1+r). It overwrites v. c is expTable.
func (s simd) expm1(v reg.VecVirtual, c func(int) reg.VecVirtual) (r, k reg.VecVirtual) {
	k, part, square := s.reg(), s.reg(), s.reg()
	s.VMULPS(c(4), v, k)
	s.VADDPS(c(5), k, k)
	s.VSUBPS(c(5), k, square)
	s.VMULPS(c(6), square, part)
	s.VSUBPS(part, v, v)
	s.VMULPS(c(7), square, part)
	s.VSUBPS(part, v, v)
	r = s.horner(v, c, 8, 12)
	s.VMULPS(v, v, square)
	s.VMULPS(square, r, r)
	s.VADDPS(v, r, r)
	s.VPSUBD(c(5), k, k) // the difference of the bits is the integer
	return r, k
}

// timesPowerOf2 turns the integers k into 2^k and multiplies r by them.
func (s simd) timesPowerOf2(r, k reg.VecVirtual, c func(int) reg.VecVirtual) {
	s.VPSLLD(Imm(23), k, k)
	s.VPADDD(c(13), k, k)
	s.VMULPS(k, r, r)
}

// clamp limits from to [lo, hi]. NaN stays NaN: if a source is NaN, VMAXPS and VMINPS return their
// second source, which is written first here.
func (s simd) clamp(from Op, lo, hi, to reg.VecVirtual) {
	s.VMAXPS(from, lo, to)
	s.VMINPS(to, hi, to)
}

func (s simd) tanhBack() {
	d, y, one := s.base("d"), s.base("y"), s.constant(goTable("expTable"), 13)
	s.registers("d", []reg.GPVirtual{d, y}, func() {
		v := s.load(s.at(y, 0))
		s.VMULPS(v, v, v)
		s.VSUBPS(v, one, v)
		s.VMULPS(s.at(d, 0), v, v)
		s.VMOVUPS(v, s.at(d, 0))
	})
}

// plane loops over the pixels of a plane p whose rows begin at small, and of a plane of twice the
// size at big, whose rows are bigRow bytes apart. With every pixel it advances rest by a vector.
// The body gets the pointers to the pixel, and to the upper and the lower two of its window.
func (s simd) plane(
	small, big, bigRow reg.GPVirtual, rest []reg.GPVirtual, body func(pixel, upper, lower reg.GPVirtual),
) {
	h, w, row := s.loaded(s.Param("p").Field("H")), s.GP64(), s.loaded(s.Param("p").Field("Row"))
	s.SHLQ(Imm(2), row)
	s.SHLQ(Imm(2), bigRow)
	s.loop("row", h, func() {
		pixel, upper, lower := s.GP64(), s.GP64(), s.GP64()
		s.MOVQ(small, pixel)
		s.MOVQ(big, upper)
		s.LEAQ(Mem{Base: big, Index: bigRow, Scale: 1}, lower)
		s.LEAQ(Mem{Base: lower, Index: bigRow, Scale: 1}, big)
		s.ADDQ(row, small)
		s.Load(s.Param("p").Field("W"), w)
		s.loop("column", w, func() {
			body(pixel, upper, lower)
			s.advance(laneBytes, append(rest, pixel)...)
			s.advance(2*laneBytes, upper, lower)
		})
	})
}

// window returns part i of the four vectors of a window.
func (s simd) window(upper, lower reg.GPVirtual, i int) [4]Mem {
	next := laneBytes / s.bytes
	return [4]Mem{s.at(upper, i), s.at(upper, i+next), s.at(lower, i), s.at(lower, i+next)}
}

// integers returns registers filled with 0, 1, 2, 3.
func (s simd) integers() [4]reg.VecVirtual {
	r := [4]reg.VecVirtual{s.zero(), s.reg(), s.reg(), s.reg()}
	if s.wide() {
		s.VPTERNLOGD(Imm(0xff), r[1], r[1], r[1])
	} else {
		s.VPCMPEQD(r[1], r[1], r[1])
	}
	s.VPSRLD(Imm(31), r[1], r[1])
	s.VPADDD(r[1], r[1], r[2])
	s.VPADDD(r[1], r[2], r[3])
	return r
}

func (s simd) maxPool() {
	dst, src, srcRow, which := s.base("dst"), s.base("src"), s.argument("srcRow"), s.base("which")
	number := s.integers()
	s.plane(dst, src, srcRow, []reg.GPVirtual{which}, func(pixel, upper, lower reg.GPVirtual) {
		for i := range laneBytes / s.bytes {
			var v [4]reg.VecVirtual
			for j, m := range s.window(upper, lower, i) {
				v[j] = s.load(m)
			}
			best, arg := s.reg(), s.reg()
			s.VMOVAPS(v[0], best)
			s.VMOVAPS(number[0], arg)
			if s.wide() {
				for j := 1; j < 4; j++ {
					more := s.K()
					s.VCMPPS(Imm(greater), best, v[j], more)
					s.VMOVAPS(v[j], more, best)
					s.VMOVAPS(number[j], more, arg)
				}
				nan, other := s.K(), s.K()
				s.VCMPPS(Imm(isNaN), v[1], v[0], nan)
				s.VCMPPS(Imm(isNaN), v[3], v[2], other)
				s.KORW(nan, other, nan)
				s.VPTERNLOGD(Imm(0xff), best, best, nan, best)
			} else {
				for j := 1; j < 4; j++ {
					more := s.reg()
					s.VCMPPS(Imm(greater), best, v[j], more)
					s.VBLENDVPS(more, v[j], best, best)
					s.VBLENDVPS(more, number[j], arg, arg)
				}
				s.VCMPPS(Imm(isNaN), v[1], v[0], v[0])
				s.VCMPPS(Imm(isNaN), v[3], v[2], v[2])
				s.VORPS(v[0], best, best)
				s.VORPS(v[2], best, best)
			}
			s.VMOVUPS(best, s.at(pixel, i))
			s.VMOVUPS(arg, s.at(which, i))
		}
	})
}

func (s simd) maxPoolBack() {
	dst, dstRow, d, which := s.base("dst"), s.argument("dstRow"), s.base("d"), s.base("which")
	number := s.integers()
	s.plane(d, dst, dstRow, []reg.GPVirtual{which}, func(pixel, upper, lower reg.GPVirtual) {
		for i := range laneBytes / s.bytes {
			v, w := s.load(s.at(pixel, i)), s.load(s.at(which, i))
			for j, m := range s.window(upper, lower, i) {
				out := s.reg()
				if s.wide() {
					here := s.K()
					s.VPCMPEQD(number[j], w, here)
					s.VMOVAPS_Z(v, here, out)
				} else {
					s.VPCMPEQD(number[j], w, out)
					s.VANDPS(v, out, out)
				}
				s.VMOVUPS(out, m)
			}
		}
	})
}

// maxPoolHalves writes the kernel of MaxPoolHalves, which exists only for the class with masks.
func (s simd) maxPoolHalves() {
	dst, odd, d, which := s.base("dst"), s.base("odd"), s.base("d"), s.base("which")
	plane := s.Param("p")
	h, w, row, left := s.loaded(plane.Field("H")), s.loaded(plane.Field("W")), s.loaded(plane.Field("Row")), s.GP64()
	s.SHLQ(Imm(2), row)
	below, oddBelow := s.GP64(), s.GP64() // distances of rows of dst and of odd
	s.MOVQ(w, below)
	s.SHLQ(Imm(6), below)
	s.MOVQ(w, oddBelow)
	s.SHLQ(Imm(2), oddBelow)
	number := s.integers()
	s.loop("row", h, func() {
		from := s.GP64()
		s.MOVQ(d, from)
		s.ADDQ(row, d)
		s.MOVQ(w, left)
		s.loop("column", left, func() {
			v, place, bits := s.load(s.at(from, 0)), s.load(s.at(which, 0)), s.GP32()
			right, lower, upper := s.K(), s.K(), s.K()
			s.VPTESTMD(number[1], place, right)
			s.VPTESTMD(number[2], place, lower)
			s.KNOTW(lower, upper)
			s.KMOVW(right, bits)
			s.MOVL(bits, Mem{Base: odd})
			s.MOVL(bits, Mem{Base: odd, Index: oddBelow, Scale: 1})
			for i, half := range []reg.OpmaskVirtual{upper, lower} {
				out, to := s.reg(), Mem{Base: dst}
				if i == 1 {
					to = to.Idx(below, 1)
				}
				s.VMOVAPS_Z(v, half, out)
				s.VMOVUPS(out, to)
			}
			s.advance(laneBytes, from, which, dst)
			s.advance(4, odd)
		})
		s.ADDQ(below, dst)
		s.ADDQ(oddBelow, odd)
	})
}

// quarter fills a register with 2^-2, whose exponent is 125 in float32.
func (s simd) quarter() reg.VecVirtual {
	r, word := s.reg(), s.GP32()
	s.MOVL(U32(125<<23), word)
	s.VMOVD(word, r.AsX())
	s.VBROADCASTSS(r.AsX(), r)
	return r
}

func (s simd) avgPool() {
	dst, src, srcRow, quarter := s.base("dst"), s.base("src"), s.argument("srcRow"), s.quarter()
	s.plane(dst, src, srcRow, nil, func(pixel, upper, lower reg.GPVirtual) {
		for i := range laneBytes / s.bytes {
			m := s.window(upper, lower, i)
			a, b := s.load(m[0]), s.load(m[2])
			s.VADDPS(m[1], a, a)
			s.VADDPS(m[3], b, b)
			s.VADDPS(b, a, a)
			s.VMULPS(quarter, a, a)
			s.VMOVUPS(a, s.at(pixel, i))
		}
	})
}

func (s simd) avgPoolBack() {
	dst, dstRow, d, quarter := s.base("dst"), s.argument("dstRow"), s.base("d"), s.quarter()
	s.plane(d, dst, dstRow, nil, func(pixel, upper, lower reg.GPVirtual) {
		for i := range laneBytes / s.bytes {
			v := s.reg()
			s.VMULPS(s.at(pixel, i), quarter, v)
			for _, m := range s.window(upper, lower, i) {
				s.VMOVUPS(v, m)
			}
		}
	})
}

// inTurn loops over the vectors at x and passes each to the next of n bodies in rotation: the sums
// of several kernels are over the vectors modulo n, a power of 2.
func (s simd) inTurn(slice string, x reg.GPVirtual, n int, body func(turn int, at Mem)) {
	left, rounds := s.length(slice), s.GP64()
	s.SHRQ(Imm(4), left)
	s.MOVQ(left, rounds)
	s.SHRQ(Imm(uint64(map[int]int{2: 1, 4: 2}[n])), rounds)
	s.loop("round", rounds, func() {
		for turn := range n {
			body(turn, Mem{Base: x, Disp: turn * laneBytes})
		}
		s.ADDQ(U32(n*laneBytes), x)
	})
	s.ANDQ(Imm(uint64(n-1)), left)
	for turn := range n - 1 {
		s.JZ(LabelRef("done"))
		body(turn, Mem{Base: x, Disp: turn * laneBytes})
		s.DECQ(left)
	}
	s.Label("done")
}

func (s simd) laneSum() {
	acc, x := s.argument("acc"), s.base("x")
	var sum [4][]reg.VecVirtual
	for t := range sum {
		for i := range laneBytes / s.bytes {
			sum[t] = append(sum[t], s.load(s.at(acc, i).Offset(t*laneBytes)))
		}
	}
	s.inTurn("x", x, len(sum), func(turn int, at Mem) {
		for i, r := range sum[turn] {
			s.VADDPS(at.Offset(i*s.bytes), r, r)
		}
	})
	for t := range sum {
		for i, r := range sum[t] {
			s.VMOVUPS(r, s.at(acc, i).Offset(t*laneBytes))
		}
	}
}

// addSquares adds the squares of the 16 floats at an address to float64 sums.
func (s simd) addSquares(sums []reg.VecVirtual, at Mem) {
	for i, sum := range sums {
		v := s.reg()
		s.VCVTPS2PD(at.Offset(i*s.bytes/2), v)
		s.VFMADD231PD(v, v, sum)
	}
}

// squares returns the float64 sums of the squares of the lanes. It sums even and odd vectors
// separately, and then adds the two.
func (s simd) squares(x reg.GPVirtual) []reg.VecVirtual {
	var sum [2][]reg.VecVirtual
	for t := range sum {
		for range 2 * laneBytes / s.bytes {
			sum[t] = append(sum[t], s.zero())
		}
	}
	s.inTurn("x", x, len(sum), func(turn int, at Mem) { s.addSquares(sum[turn], at) })
	for i, r := range sum[0] {
		s.VADDPD(sum[1][i], r, r)
	}
	return sum[0]
}

func (s simd) laneSumSquares() {
	acc, x := s.argument("acc"), s.base("x")
	for i, r := range s.squares(x) {
		s.VADDPD(s.at(acc, i), r, r)
		s.VMOVUPS(r, s.at(acc, i))
	}
}

func (s simd) sumSquares() {
	s.VMOVSD(s.sumWide(s.squares(s.base("x"))), s.address(s.ReturnIndex(0)))
}

// sumWide adds the float64 of the registers by halves, and overwrites them.
func (s simd) sumWide(sum []reg.VecVirtual) reg.Register {
	for n := len(sum) / 2; n > 0; n /= 2 {
		for i := range n {
			s.VADDPD(sum[i+n], sum[i], sum[i])
		}
	}
	x, y, upper := sum[0].AsX(), sum[0].AsY(), s.YMM()
	if s.wide() {
		s.VEXTRACTF64X4(Imm(1), sum[0], upper)
		s.VADDPD(upper, y, y)
		s.VEXTRACTF64X2(Imm(1), y, upper.AsX()) // of any of the 32 registers
	} else {
		s.VEXTRACTF128(Imm(1), y, upper.AsX())
	}
	s.VADDPD(upper.AsX(), x, x)
	s.VPERMILPD(Imm(1), x, upper.AsX())
	s.VADDSD(upper.AsX(), x, x)
	return x
}

func (s simd) laneScale() {
	dst, dstRow, f, x := s.base("dst"), s.argument("dstRow"), s.argument("f"), s.base("x")
	factor := s.vector(f)
	s.SHLQ(Imm(2), dstRow)
	s.vectors("x", func() {
		for i, r := range factor {
			v := s.reg()
			s.VMULPS(s.at(x, i), r, v)
			s.VMOVUPS(v, s.at(dst, i))
		}
		s.ADDQ(Imm(laneBytes), x)
		s.ADDQ(dstRow, dst)
	})
}

func (s simd) spread() {
	dst, dstRow, column, src := s.base("dst"), s.argument("dstRow"), s.argument("dstColumn"), s.base("src")
	h, w, row := s.loaded(s.Param("p").Field("H")), s.GP64(), s.loaded(s.Param("p").Field("Row"))
	for _, stride := range []reg.GPVirtual{dstRow, column, row} {
		s.SHLQ(Imm(2), stride)
	}
	s.loop("row", h, func() {
		to, from := s.GP64(), s.GP64()
		s.MOVQ(dst, to)
		s.MOVQ(src, from)
		s.Load(s.Param("p").Field("W"), w)
		s.loop("column", w, func() {
			for i := range laneBytes / s.bytes {
				s.VMOVUPS(s.load(s.at(from, i)), s.at(to, i))
			}
			s.ADDQ(Imm(laneBytes), from)
			s.ADDQ(column, to)
		})
		s.ADDQ(dstRow, dst)
		s.ADDQ(row, src)
	})
}

// addScaled sets dst to the vectors of y and those of x times the factor.
func (s simd) addScaled(factor []reg.VecVirtual, x, y, dst reg.GPVirtual) {
	s.vectors("x", func() {
		for i, r := range factor {
			v := s.reg()
			s.VMULPS(s.at(x, i), r, v)
			s.VADDPS(s.at(y, i), v, v)
			s.VMOVUPS(v, s.at(dst, i))
		}
		s.advance(laneBytes, x, y, dst)
	})
	s.rest("x", func(mask reg.OpmaskVirtual) {
		v, to := s.reg(), s.reg()
		s.VMOVUPS_Z(s.at(x, 0), mask, v)
		s.VMOVUPS_Z(s.at(y, 0), mask, to)
		s.VMULPS(factor[0], v, v)
		s.VADDPS(to, v, v)
		s.VMOVUPS(v, mask, s.at(dst, 0))
	})
}

func (s simd) axpyTo() {
	factor := s.parts()
	for i := range factor {
		factor[i] = s.broadcast("alpha")
	}
	s.addScaled(factor, s.base("x"), s.base("y"), s.base("dst"))
}

func (s simd) fromBytes() {
	dst, src, scale, shift := s.base("dst"), s.base("src"), s.broadcast("scale"), s.broadcast("shift")
	s.vectors("dst", func() {
		for i := range laneBytes / s.bytes {
			v := s.reg()
			s.VPMOVZXBD(Mem{Base: src, Disp: i * s.bytes / 4}, v)
			s.VCVTDQ2PS(v, v)
			s.VMULPS(scale, v, v)
			s.VADDPS(shift, v, v)
			s.VMOVUPS(v, s.at(dst, i))
		}
		s.ADDQ(Imm(laneBytes), dst)
		s.ADDQ(Imm(laneBytes/4), src)
	})
}

// half returns a register with the lower or the upper half of v's floats as float64.
func (k *kernels) half(v reg.VecVirtual, upper bool) reg.VecVirtual {
	if v.Size() > ymmBytes {
		wide, from := k.ZMM(), v.AsY()
		if upper {
			from = k.YMM()
			k.VEXTRACTF64X4(Imm(1), v, from)
		}
		k.VCVTPS2PD(from, wide)
		return wide
	}
	wide, from := k.YMM(), v.AsX()
	if upper {
		from = k.XMM()
		k.VEXTRACTF128(Imm(1), v, from)
	}
	k.VCVTPS2PD(from, wide)
	return wide
}

func (s simd) laneAxpyWide() {
	f, x, y := s.argument("f"), s.base("x"), s.base("y")
	factor := s.vector(f)
	s.vectors("x", func() {
		var pairs [][2]reg.VecVirtual // pairs of lanes that are added
		scaled := make([]reg.VecVirtual, len(factor))
		for i, r := range factor {
			scaled[i] = s.reg()
			s.VMULPS(s.at(x, i), r, scaled[i])
		}
		if s.wide() {
			pairs = append(pairs, [2]reg.VecVirtual{s.half(scaled[0], false), s.half(scaled[0], true)})
		} else {
			for _, upper := range []bool{false, true} {
				pairs = append(pairs, [2]reg.VecVirtual{s.half(scaled[0], upper), s.half(scaled[1], upper)})
			}
		}
		for i, p := range pairs {
			s.VADDPD(p[1], p[0], p[0])
			s.VADDPD(s.at(y, i), p[0], p[0])
			s.VMOVUPS(p[0], s.at(y, i))
		}
		s.advance(laneBytes, x, y)
	})
}

func (s simd) addWide() {
	dst, dstRow, x := s.base("dst"), s.argument("dstRow"), s.base("x")
	s.SHLQ(Imm(3), dstRow)
	s.tileRows(dst, dstRow, x, tileCols*laneBytes, func(to, from reg.GPVirtual) {
		for i := range 2 * laneBytes / s.bytes {
			v := s.reg()
			s.VCVTPS2PD(Mem{Base: from, Disp: i * s.bytes / 2}, v)
			s.VADDPD(s.at(to, i), v, v)
			s.VMOVUPS(v, s.at(to, i))
		}
		s.ADDQ(Imm(laneBytes), from)
		s.ADDQ(Imm(2*laneBytes), to)
	})
}

func (s simd) addNarrow() {
	dst, x := s.base("dst"), s.base("x")
	s.vectors("dst", func() {
		s.addNarrowVector(dst, x)
		s.ADDQ(Imm(laneBytes), dst)
		s.ADDQ(Imm(2*laneBytes), x)
	})
	s.rest("dst", func(mask reg.OpmaskVirtual) {
		old := s.reg()
		s.VMOVUPS_Z(s.at(dst, 0), mask, old)
		for i, k := range []reg.OpmaskVirtual{mask, s.upper(mask)} {
			v, add, narrow := s.half(old, i == 1), s.reg(), s.YMM()
			s.VMOVUPD_Z(s.at(x, i), k, add)
			s.VADDPD(add, v, v)
			s.VCVTPD2PS(v, narrow)
			s.VMOVUPS(narrow, k, Mem{Base: dst, Disp: i * s.narrowRegister()})
		}
	})
}

// addNarrowVector adds 16 float64 to 16 floats.
func (s simd) addNarrowVector(dst, x reg.GPVirtual) {
	for i := range 2 * laneBytes / s.bytes {
		v, at := s.reg(), Mem{Base: dst, Disp: i * s.bytes / 2}
		s.VCVTPS2PD(at, v)
		s.VADDPD(s.at(x, i), v, v)
		if s.wide() {
			narrow := s.YMM()
			s.VCVTPD2PS(v, narrow)
			s.VMOVUPS(narrow, at)
		} else {
			narrow := s.XMM()
			s.VCVTPD2PSY(v, narrow)
			s.VMOVUPS(narrow, at)
		}
	}
}

func (s simd) axpyWide() {
	x, y, factor := s.base("x"), s.base("y"), s.wideArgument("alpha")
	s.vectors("x", func() {
		for i := range 2 * laneBytes / s.bytes {
			v := s.reg()
			s.VCVTPS2PD(Mem{Base: x, Disp: i * s.bytes / 2}, v)
			s.VMULPD(factor, v, v)
			s.VADDPD(s.at(y, i), v, v)
			s.VMOVUPS(v, s.at(y, i))
		}
		s.ADDQ(Imm(laneBytes), x)
		s.ADDQ(Imm(2*laneBytes), y)
	})
	s.rest("x", func(mask reg.OpmaskVirtual) {
		left := s.reg()
		s.VMOVUPS_Z(s.at(x, 0), mask, left)
		for i, k := range []reg.OpmaskVirtual{mask, s.upper(mask)} {
			v, to := s.half(left, i == 1), s.reg()
			s.VMOVUPD_Z(s.at(y, i), k, to)
			s.VMULPD(factor, v, v)
			s.VADDPD(to, v, v)
			s.VMOVUPD(v, k, s.at(y, i))
		}
	})
}

func (s simd) narrowTile() {
	dst, dstRow, x := s.base("dst"), s.argument("dstRow"), s.base("x")
	s.SHLQ(Imm(2), dstRow)
	s.tileRows(dst, dstRow, x, 2*tileCols*laneBytes, func(to, from reg.GPVirtual) {
		s.addNarrowVector(to, from)
		s.ADDQ(Imm(laneBytes), to)
		s.ADDQ(Imm(2*laneBytes), from)
	})
}

// tileRows loops over the vectors of the rows of a tile x, xRow bytes apart, and of dst.
func (s simd) tileRows(dst, dstRow, x reg.GPVirtual, xRow int, body func(to, from reg.GPVirtual)) {
	rows, columns := s.argument("rows"), s.argument("vectors")
	s.loop("row", rows, func() {
		n, to, from := s.GP64(), s.GP64(), s.GP64()
		s.MOVQ(columns, n)
		s.MOVQ(dst, to)
		s.MOVQ(x, from)
		s.loop("next", n, func() { body(to, from) })
		s.ADDQ(dstRow, dst)
		s.ADDQ(U32(uint32(xRow)), x)
	})
}
