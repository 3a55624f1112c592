package plots

import "testing"

// Lines that end close together are shown closer, their second half alone, within its
// axis; lines that end apart are not.
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
	for _, apart := range [][]Line{{rising("a", 0.5), rising("b", 0.9), rising("c", 0.1)},
		{rising("a", 0.9), rising("b", 0.9)},
		{rising("", 0), rising("", 0), rising("", 0)}} {
		p := Picture{YMax: 1, Lines: apart}
		if p.AddCloseUp(); len(p.Below) != 0 {
			t.Errorf("%d lines are shown closer", len(apart))
		}
	}
}
