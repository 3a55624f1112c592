package audit

import (
	"math"
	"slices"
	"testing"

	"proactivedp/data"
	"proactivedp/models"
)

func gradSum(t *testing.T, m models.Bounded, b data.Batch, clip float64) []float64 {
	t.Helper()
	sum := make([]float64, m.NumParams())
	if err := m.WideGradSum(sum, make([]float32, m.NumParams()), b, clip, m.NewScratch()); err != nil {
		t.Fatal(err)
	}
	return sum
}

// The gradients of the audit's models are the rows themselves, each clipped by itself. Missing rows add
// nothing. With the faults, gradients are not clipped, or only their sum is clipped.
func TestModels(t *testing.T) {
	d := gradients(2, []float32{30, 40}, []float32{0, 0.5}, []float32{-3, 0})
	all := data.Batch{Data: d, Rows: []int32{0, 1, 2}}
	m := linear{2}
	second := without{m, []bool{true, false, true}}
	for _, c := range []struct {
		name  string
		model models.Bounded
		want  []float64
	}{
		{"linear", m, []float64{0.6 - 1, 0.8 + 0.5}},
		{"without", second, []float64{0, 0.5}},
		{"unclipped", clipped{m, unclipped}, []float64{27, 40.5}},
		{"batch clipped", clipped{m, batchClipped}, []float64{27 / math.Hypot(27, 40.5), 40.5 / math.Hypot(27, 40.5)}},
		{"batch clipped without", clipped{second, batchClipped}, []float64{0, 0.5}},
	} {
		for i, got := range gradSum(t, c.model, all, 1) {
			if math.Abs(got-c.want[i]) > 2e-6 {
				t.Errorf("%s: coordinate %d = %v, want %v", c.name, i, got, c.want[i])
			}
		}
	}
	if !slices.Equal(all.Rows, []int32{0, 1, 2}) {
		t.Errorf("the batch was changed to %v", all.Rows)
	}
	if got := m.Loss([]float32{1, 2}, all, nil); math.Abs(got-(110+1-3)/3.) > 1e-12 {
		t.Errorf("loss %v", got)
	}
	if got := second.Loss([]float32{1, 2}, all, second.NewScratch()); got != 1 {
		t.Errorf("loss without two records %v, want 1", got)
	}
}
