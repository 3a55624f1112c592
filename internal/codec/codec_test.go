package codec

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// point is a state for the tests.
type point struct {
	x    int32
	on   bool
	path []uint8
	v    []float32
}

func (p *point) visit(c *Codec) {
	Exactly(c, "version", 7)
	Number(c, "x", &p.x, -5, 5)
	Boolean(c, "on", &p.on)
	List(c, "step", &p.path, 3, func(n *uint8, c *Codec) { Number(c, "step", n, 0, 200) })
	Floats(c, &p.v, 4)
}

func written(t *testing.T, p point) []byte {
	t.Helper()
	var b bytes.Buffer
	c := NewWriter(&b)
	p.visit(c)
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	was := point{-5, true, []uint8{1, 200}, []float32{0, -1, float32(math.Inf(1)), 1e-40}}
	text := written(t, was)
	var is point
	r := bytes.NewReader(append(text, "more"...))
	c := NewReader(r)
	is.visit(c)
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	if is.x != was.x || is.on != was.on || !slices.Equal(is.path, was.path) || !slices.Equal(is.v, was.v) {
		t.Errorf("%+v, want %+v", is, was)
	}
	if r.Len() != len("more") {
		t.Errorf("%d bytes are left behind the state, want 4", r.Len())
	}
	for n := range text {
		c := NewReader(bytes.NewReader(text[:n]))
		is.visit(c)
		if err := c.End(); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
			t.Fatalf("the first %d of %d bytes: error %v, want unexpected EOF", n, len(text), err)
		}
	}
}

// What could not be read is not written, and what no writer wrote is not read.
func TestRangesHoldBothWays(t *testing.T) {
	for want, p := range map[string]point{
		"x = 6, must be in [-5, 5]":                  {x: 6},
		"number of step = 4, must be in [0, 3]":      {path: make([]uint8, 4)},
		"step 1: step = 201, must be in [0, 200]":    {path: []uint8{0, 201}},
		"number of step = 1000, must be in [0, 3]":   {path: make([]uint8, 1000)},
		"x = -2147483648, must be in [-5, 5]":        {x: math.MinInt32},
		"step 0: step = 255, must be in [0, 200]":    {path: []uint8{255}},
		"step 2: step = 201, must be in [0, 200]":    {path: []uint8{0, 0, 201}},
		"x = 2147483647, must be in [-5, 5]":         {x: math.MaxInt32},
		"number of step = 100000, must be in [0, 3]": {path: make([]uint8, 100_000)},
	} {
		c := NewWriter(&bytes.Buffer{})
		p.visit(c)
		if err := c.End(); err == nil || err.Error() != want {
			t.Errorf("written: error %v, want %s", err, want)
		}
	}
	forged := written(t, point{v: make([]float32, 4)})
	forged[0] = 8
	var p point
	c := NewReader(bytes.NewReader(forged))
	p.visit(c)
	if err := c.End(); err == nil || err.Error() != "version = 8, must be in [7, 7]" {
		t.Errorf("a forged version: error %v", err)
	}
}

// Whatever the bytes are: no panic, and what is read is written as it was.
func FuzzRead(f *testing.F) {
	whole := bytes.Repeat([]byte{0}, 4*8+4*4) // of a state that is all zero
	whole[0] = 7
	f.Add(whole)
	f.Fuzz(func(t *testing.T, text []byte) {
		var p point
		r := bytes.NewReader(text)
		c := NewReader(r)
		if p.visit(c); c.End() != nil {
			return
		}
		if again := written(t, p); !bytes.Equal(again, text[:len(text)-r.Len()]) {
			t.Errorf("read %x, written %x", text, again)
		}
	})
}
