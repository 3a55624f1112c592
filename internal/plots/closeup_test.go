package plots

import (
	"bytes"
	"reflect"
	"testing"
)

// If lines end close together, a second picture shows the second half of the axis enlarged. If they end
// apart, there is none.
func TestCloseUp(t *testing.T) {
	p := Picture{YMax: 1, Lines: []Line{rising("a", 0.9), rising("b", 0.92), rising("c", 0.94)}}
	p.AddCloseUp()
	if len(p.Below) != 1 || len(p.Below[0].Lines) != 3 {
		t.Fatalf("%d plots below", len(p.Below))
	}
	below := p.Below[0]
	for _, l := range below.Lines {
		if len(l.X) != 6 || l.X[0] != 5 || l.Name != "" {
			t.Errorf("%d points from %v, named %q", len(l.X), l.X[0], l.Name)
		}
		for i := range l.X {
			if !(below.YMin <= l.Lo[i] && l.Lo[i] <= l.Y[i] && l.Y[i] <= l.Hi[i] && l.Hi[i] <= below.YMax) {
				t.Errorf("at %v: %v in [%v, %v] of [%v, %v]", l.X[i], l.Y[i], l.Lo[i], l.Hi[i], below.YMin, below.YMax)
			}
		}
	}
	// Of lines of which some end together, those alone are shown closer, in their colours.
	p = Picture{YMax: 1, Lines: []Line{rising("", 0.98), rising("", 0.902), rising("", 0.9), rising("", 0.4),
		rising("", 0.915)}}
	p.AddCloseUp()
	if len(p.Below) != 1 || p.Below[0].YMax >= 0.98 {
		t.Fatalf("%d plots below", len(p.Below))
	}
	for i, want := range []int{0, 6, 6, 0, 6} {
		if got := len(p.Below[0].Lines[i].X); got != want {
			t.Errorf("line %d has %d points in the close-up, want %d", i, got, want)
		}
	}
	var drawn bytes.Buffer
	if err := p.Write(&drawn, "svg", Style{}); err != nil {
		t.Error(err)
	}
	for _, apart := range [][]Line{{rising("a", 0.5), rising("b", 0.9), rising("c", 0.1)},
		{rising("a", 0.9), rising("b", 0.9)},
		{rising("", 0), rising("", 0), rising("", 0)}} {
		p := Picture{YMax: 1, Lines: apart}
		if p.AddCloseUp(); len(p.Below) != 0 {
			t.Errorf("%d lines are shown closer", len(apart))
		}
	}
}

// A piece that is like another line is drawn with its dashes and marks.
func TestPiecesLookAlike(t *testing.T) {
	own, err := rising("", 0.5).draw(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	piece := rising("", 0.5)
	piece.Like = 3
	like, err := piece.draw(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(own, like) {
		t.Error("the piece has another look")
	}
}
