package data

import (
	"math"
	"slices"
	"testing"

	"proactivedp/rng"
)

// largestShare is the mean over the clients of the share of their largest class.
func largestShare(t *testing.T, parts []Subset, classes int) float64 {
	t.Helper()
	sum := 0.0
	for _, p := range parts {
		counts := make([]int, classes)
		for _, r := range p.Rows {
			counts[p.Data.Label[r]]++
		}
		sum += float64(slices.Max(counts)) / float64(p.Len())
	}
	return sum / float64(len(parts))
}

// Parts are disjoint and of equal size for every concentration. The labels of a part are skewed if the
// concentration is small, and even if it is large.
func TestDirichletSkewsLabels(t *testing.T) {
	const rows, classes, clients = 2003, 10, 10
	d := &Dataset{Name: "labels", Features: 1, Classes: classes, Start: make([]int, rows+1)}
	for i := range rows {
		d.Label = append(d.Label, int32(i%classes))
	}
	all := d.All()
	before := math.Inf(1)
	for _, alpha := range []float64{MinAlpha, 0.1, 1, 100, MaxAlpha} {
		p, err := ParsePartition(string(Dirichlet(alpha)))
		if err != nil || !p.Skewed() || !p.Disjoint() {
			t.Fatalf("alpha %v: %q, %v", alpha, p, err)
		}
		parts, err := p.Deal(all, clients, rng.New(4))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Check(parts); err != nil {
			t.Error(err)
		}
		for c, part := range parts {
			if part.Len() != rows/clients || !slices.IsSorted(part.Rows) {
				t.Errorf("alpha %v: client %d has %d rows, want %d in order", alpha, c, part.Len(), rows/clients)
			}
		}
		share := largestShare(t, parts, classes)
		if share >= before {
			t.Errorf("alpha %v: the largest class has a share of %v, no less than %v at a smaller one", alpha, share,
				before)
		}
		before = share
		again, err := p.Deal(all, clients, rng.New(4))
		if err != nil || !slices.Equal(again[3].Rows, parts[3].Rows) {
			t.Errorf("alpha %v: dealt differently from one seed", alpha)
		}
		if alpha == MinAlpha && share < 0.5 {
			t.Errorf("alpha %v: the largest class has a share of %v, want most", alpha, share)
		}
		if alpha == MaxAlpha && share > 0.2 {
			t.Errorf("alpha %v: the largest class has a share of %v, want about a tenth", alpha, share)
		}
	}
	for _, bad := range []string{"dirichlet:", "dirichlet:0", "dirichlet:-1", "dirichlet:NaN", "dirichlet:Inf",
		"dirichlet", "Dirichlet:1"} {
		if p, err := ParsePartition(bad); err == nil {
			t.Errorf("%q gives %q", bad, p)
		}
	}
	if _, err := Dirichlet(1).Deal(all, rows+1, rng.New(4)); err == nil {
		t.Error("more clients than rows")
	}
}
