package main

import "fmt"

// neonContract writes the contractions for arm64. The 32 registers hold a column of a Tile with a
// vector of B and four factors from A, or four lanes of a whole LaneTile. Terms are added in order
// and fused, as on amd64, so the bits are the same.
func neonContract(n *neon) {
	n.tileColumn()
	n.tileColumnRuns()
	n.tileColumnWide()
	n.laneTile()
	n.transpose()
	n.prefetch()
	n.peakFMA()
}

// neonTile is a kernel of Tile or LaneTile.
type neonTile struct {
	*neon
	name        string
	tile        gp
	terms, left gp // the next term, and the number of remaining terms
	column      gp // 8 times the column's number, or unused
}

func (n *neon) contraction(name, typeName, parameters, doc string) *neonTile {
	n.kernel(name, "func("+parameters+")", doc)
	return &neonTile{neon: n, name: typeName, tile: n.load("t"), terms: n.load("terms_base"), left: n.load("terms_len")}
}

// get loads a field of 64 bits, or the start of a slice.
func (c *neonTile) get(field string) gp {
	r := c.gp()
	c.op("MOVD", at(c.tile, c.field(c.name, field)), r)
	return r
}

// shapes writes code that branches to body(n) for n in [1, most], and to body(most) for larger n.
// The code tests for the largest n first, because most of the work has this shape.
func (c *neonTile) shapes(n gp, most int, body func(n int)) {
	for i := most; i >= 1; i-- {
		next := c.label("next")
		if i > 1 {
			c.op("CMP", immediate(i), n)
			c.op("BLT", next)
		}
		c.scope(func() { body(i) })
		c.place(next)
	}
}

// rows returns pointers to rows of A or C. The first row is at base.
func (c *neonTile) rows(name string, base gp, rows int) []gp {
	all := []gp{base}
	c.scope(func() {
		stride := c.get("Row" + name)
		for range rows - 1 {
			all = append(all, c.gp())
		}
		for m := 1; m < rows; m++ {
			c.op("ADD", shifted(stride, 2), all[m-1], all[m])
		}
	})
	for _, r := range all {
		c.gps[r] = true
	}
	return all
}

// shifted returns the operand for a register times a power of two.
func shifted(r gp, by int) string { return fmt.Sprintf("%v<<%d", r, by) }

// atColumn adds the offset of the tile's column in B or C to a pointer.
func (c *neonTile) atColumn(base gp, name string) {
	c.scope(func() {
		place := c.gp()
		c.op("ADD", c.column, c.tile, place)
		c.op("MOVD", at(place, c.field(c.name, "Col"+name)), place)
		c.op("ADD", shifted(place, 2), base)
	})
}

func (n *neon) column(name, parameters, doc string) *neonTile {
	c := n.contraction(name, "Tile", parameters, doc)
	c.column = c.load("column")
	c.scale(3, c.column)
	return c
}

func (n *neon) tileColumn() {
	c := n.column("tileColumnNEON", "t *Tile, terms []Term, column int", "computes a column of Tile.Mul.")
	c.shapes(c.get("Rows"), tileRows, func(rows int) {
		acc := c.accumulators(rows)
		multiply, noBias, zero := c.label("multiply"), c.label("noBias"), c.label("zero")
		c.scope(func() {
			bias := c.get("Bias")
			c.op("CBZ", bias, noBias)
			for m := range acc {
				c.op("FMOVS", at(bias, floatBytes*m), acc[m][0])
				c.do("dup.4s", acc[m], acc[m][:1])
			}
			c.op("B", multiply)
		})
		c.place(noBias)
		c.scope(func() {
			accumulate := c.gp()
			c.op("MOVBU", at(c.tile, c.field(c.name, "Accumulate")), accumulate)
			c.op("CBZ", accumulate, zero)
			for m, at := range c.rowsOfC(rows) {
				c.read(acc[m], at, 0)
			}
			c.op("B", multiply)
		})
		c.place(zero)
		c.clearAll(acc)
		c.place(multiply)
		c.multiply(acc)
		c.scope(func() {
			for m, at := range c.rowsOfC(rows) {
				c.write(acc[m], at, 0)
			}
		})
		c.end()
	})
}

func (c *neonTile) rowsOfC(rows int) []gp {
	base := c.get("C")
	c.atColumn(base, "C")
	return c.rows("C", base, rows)
}

func (c *neonTile) accumulators(rows int) []block {
	acc := make([]block, rows)
	for m := range acc {
		acc[m] = c.vector()
	}
	return acc
}

func (c *neonTile) clearAll(acc []block) {
	for _, a := range acc {
		c.clear(a)
	}
}

// multiply adds the remaining terms to the accumulators of a column.
func (c *neonTile) multiply(acc []block) {
	c.scope(func() {
		baseA, baseB := c.get("A"), c.get("B")
		c.atColumn(baseB, "B")
		rowsA := c.rows("A", baseA, len(acc))
		c.loop(c.left, func() {
			a, b := c.term()
			c.op("ADD", shifted(b, 2), baseB, b)
			row, factors := c.read(c.vector(), b, 0), c.block(quads)
			for m, p := range rowsA {
				factor := factors[m%quads : m%quads+1]
				c.op("FMOVS", fmt.Sprintf("(%v)(%v<<2)", p, a), factor[0])
				c.do("fmla.s", acc[m], row, factor)
			}
		})
	})
}

// term loads the next term and moves to the one after it.
func (c *neonTile) term() (a, b gp) {
	a, b = c.gp(), c.gp()
	c.op("LDPSW.P", at(c.terms, termBytes), fmt.Sprintf("(%v, %v)", a, b))
	return a, b
}

func (n *neon) tileColumnRuns() {
	c := n.column("tileColumnRunsNEON", "t *Tile, terms []Term, run, column int", "computes a column of Tile.MulRuns.")
	remaining := c.left
	c.left = c.gp()
	run := c.load("run")
	c.shapes(c.get("Rows"), tileRows, func(rows int) {
		acc := c.accumulators(rows)
		again, done := c.label("again"), c.label("finished")
		c.op("CBZ", remaining, done)
		c.place(again)
		c.op("MOVD", run, c.left)
		c.clearAll(acc)
		c.multiply(acc)
		c.scope(func() {
			sum := c.vector()
			for m, at := range c.rowsOfC(rows) {
				c.read(sum, at, 0)
				c.do("fadd.4s", sum, sum, acc[m])
				c.write(sum, at, 0)
			}
		})
		c.op("SUB", run, remaining)
		c.op("CBNZ", remaining, again)
		c.place(done)
		c.end()
	})
}

func (n *neon) tileColumnWide() {
	c := n.column("tileColumnWideNEON", "t *Tile, terms []Term, lengths []int, wide []float64, wideRow, column int",
		"computes a column of Tile.MulWide.")
	lengths, remaining, wide, wideRow := c.load("lengths_base"), c.load("lengths_len"), c.load("wide_base"),
		c.load("wideRow")
	c.scale(3, wideRow)
	c.op("ADD", shifted(c.column, 4), wide) // 16 float64 for each
	c.shapes(c.get("Rows"), tileRows, func(rows int) {
		acc := c.accumulators(rows)
		again, done := c.label("again"), c.label("finished")
		c.op("CBZ", remaining, done)
		c.place(again)
		c.op("MOVD.P", at(lengths, 8), c.left)
		c.clearAll(acc)
		c.multiply(acc)
		c.scope(func() {
			to := c.gp()
			c.op("MOVD", wide, to)
			for m := range acc {
				for half := 0; half < quads; half += 2 {
					c.scope(func() {
						sum := c.read(c.block(quads), to, half*2*vecBytes)
						for i := range sum {
							c.scope(func() {
								one, part := c.block(1), acc[m][half+i/2:half+i/2+1]
								c.do([]string{"fcvtl.2d", "fcvtl2.2d"}[i%2], one, part)
								c.do("fadd.2d", sum[i:i+1], sum[i:i+1], one)
							})
						}
						c.write(sum, to, half*2*vecBytes)
					})
				}
				c.op("ADD", wideRow, to)
			}
		})
		c.op("SUB", "$1", remaining)
		c.op("CBNZ", remaining, again)
		c.place(done)
		c.end()
	})
}

// laneTile writes a kernel that computes four lanes of every product of a LaneTile.
func (n *neon) laneTile() {
	c := n.contraction("laneTileLanesNEON", "LaneTile", "t *LaneTile, terms []Term, lane int",
		"computes 4 lanes of LaneTile.Mul, from lane on.")
	lane := c.load("lane")
	rows := c.get("Rows")
	c.shapes(c.get("Cols"), laneTileCols, func(cols int) {
		c.shapes(rows, laneTileRows, func(rows int) { c.laneBlock(rows, cols, lane) })
	})
}

// laneBlock computes a block of rows × cols, and returns.
func (c *neonTile) laneBlock(rows, cols int, lane gp) {
	acc := make([]block, rows)
	for m := range acc {
		acc[m] = c.block(cols)
	}
	eachOfC := func(do func(acc block, at gp)) {
		c.scope(func() {
			first, stride, p := c.get("C"), c.get("RowC"), c.gp()
			c.op("ADD", shifted(lane, 2), first)
			for j := range cols {
				c.op("MOVD", at(c.tile, c.field(c.name, "ColC")+8*j), p)
				c.op("ADD", shifted(p, 2), first, p)
				for m := range acc {
					do(acc[m][j:j+1], p)
					if m+1 < rows {
						c.op("ADD", shifted(stride, 2), p)
					}
				}
			}
		})
	}
	multiply, zero := c.label("multiply"), c.label("zero")
	c.scope(func() {
		accumulate := c.gp()
		c.op("MOVBU", at(c.tile, c.field(c.name, "Accumulate")), accumulate)
		c.op("CBZ", accumulate, zero)
	})
	eachOfC(func(acc block, at gp) { c.read(acc, at, 0) })
	c.op("B", multiply)
	c.place(zero)
	c.clearAll(acc)
	c.place(multiply)
	c.multiplyLanes(acc, cols, lane)
	eachOfC(func(acc block, at gp) { c.write(acc, at, 0) })
	c.end()
}

// multiplyLanes adds the terms to the accumulators of four lanes.
func (c *neonTile) multiplyLanes(acc []block, cols int, lane gp) {
	c.scope(func() {
		baseA, baseB := c.get("A"), c.get("B")
		c.op("ADD", shifted(lane, 2), baseA)
		c.op("ADD", shifted(lane, 2), baseB)
		columns := make([]gp, cols)
		for j := range columns {
			columns[j] = c.gp()
			c.op("MOVD", at(c.tile, c.field(c.name, "ColB")+8*j), columns[j])
			c.op("ADD", shifted(columns[j], 2), baseB, columns[j])
		}
		rowsA := c.rows("A", baseA, len(acc))
		c.loop(c.left, func() {
			a, b := c.term()
			c.scale(2, a, b)
			row, factor := c.block(cols), c.block(1)
			for j, p := range columns {
				c.readFrom(row[j], p, b)
			}
			for m, p := range rowsA {
				c.readFrom(factor[0], p, a)
				c.do("fmla.4s", acc[m], row, factor)
			}
		})
	})
}

// transpose writes the kernel of Transpose, which works on squares of 4×4.
func (n *neon) transpose() {
	n.kernel("transposeNEON", "func(dst []float32, dstRow int, src []float32, srcRow int)",
		"does the same as Transpose without its checks.")
	dst, src, dstRow, srcRow := n.load("dst_base"), n.load("src_base"), n.load("dstRow"), n.load("srcRow")
	n.scale(2, dstRow, srcRow)
	for i := range quads { // four rows of src, and four columns of dst
		n.scope(func() {
			var from [quads]gp
			for m := range from {
				from[m] = n.gp()
				n.op("MOVD", src, from[m])
				n.op("ADD", srcRow, src)
			}
			to := n.gp()
			n.op("ADD", immediate(i*vecBytes), dst, to)
			for j := range quads {
				n.scope(func() { n.square(from, j*vecBytes, to, dstRow) })
			}
		})
	}
	n.end()
}

// square transposes a square of 4×4, stores it at to, and advances to to the next rows.
func (n *neon) square(from [quads]gp, bytes int, to, toRow gp) {
	var x, pairs [quads]block
	for m, p := range from {
		x[m], pairs[m] = n.read(n.block(1), p, bytes), n.block(1)
	}
	for m, name := range []string{"trn1.4s", "trn2.4s"} {
		n.do(name, pairs[m], x[0], x[1])
		n.do(name, pairs[m+2], x[2], x[3])
	}
	for m := range x {
		n.do([]string{"trn1.2d", "trn2.2d"}[m/2], x[m], pairs[m%2], pairs[m%2+2])
		n.write(x[m], to, 0)
		n.op("ADD", toRow, to)
	}
}

// prefetch writes the kernel that loads the cache lines of rows.
func (n *neon) prefetch() {
	n.kernel("prefetchRows", "func(at *byte, row, rows, bytes int)",
		"loads rows of memory, bytes long and row bytes apart, into the\n"+
			"first-level cache.")
	first, row, bytes := n.load("at"), n.load("row"), n.load("bytes")
	n.loop(n.load("rows"), func() {
		p, end, line := n.gp(), n.gp(), n.label("line")
		n.op("MOVD", first, p)
		n.op("ADD", bytes, first, end)
		n.place(line)
		n.op("PRFM", at(p, 0), "PLDL1KEEP")
		n.advance(64, p)
		n.op("CMP", end, p)
		n.op("BLT", line)
		n.op("ADD", row, first)
	})
	n.end()
}

// peakFMA writes the kernel that runs, in each round, as many independent multiply-adds on
// registers as a tile has.
func (n *neon) peakFMA() {
	n.kernel("peakFMANEON", "func(rounds int) (flops int)",
		"runs rounds > 0 of independent multiply-adds on registers and returns the\n"+
			"floating-point operations of a round.")
	acc, factor := n.zeros(tileRows*quads), n.zeros(1)
	n.loop(n.load("rounds"), func() { n.do("fmla.s", acc, factor, factor) })
	flops := n.gp()
	n.op("MOVD", immediate(2*len(acc)*vecBytes/floatBytes), flops)
	n.op("MOVD", flops, n.operand("flops"))
	n.end()
}
