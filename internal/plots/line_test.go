package plots

import (
	"testing"

	"gonum.org/v1/plot/plotter"
)

// Few points are all marked, and all of a line of points; of others some, at other places on the
// next line.
func TestMarksOfLines(t *testing.T) {
	points := make(plotter.XYs, 20*fewPoints)
	for i := range points {
		points[i].X = float64(i)
	}
	for n, all := range map[int]bool{1: true, fewPoints: true, fewPoints + 1: false, len(points): false} {
		if got := (Line{}).marked(points[:n], 0); (len(got) == n) != all || !all && (len(got) < 2 || len(got) > 2*someMarks) {
			t.Errorf("%d of %d points are marked", len(got), n)
		}
		if got := (Line{Points: true}).marked(points[:n], 0); len(got) != n {
			t.Errorf("%d of the %d points of a line of points are marked", len(got), n)
		}
	}
	if (Line{}).marked(points, 0)[0] == (Line{}).marked(points, 1)[0] {
		t.Error("two lines are marked at the same places")
	}
}
