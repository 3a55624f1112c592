package plan

import (
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/decimal"
)

// Each σ of a frontier is within the budget by its accountant, and the closed form has no σ beyond its
// largest batch size. The row of the plan has the σ of Tighten.
func TestFrontierOfThePaperSetting(t *testing.T) {
	p := solve(t, Request{Method: ClosedForm, N: 10000, Delta: 1e-4, Epochs: 5, Sigma: 19.29962})
	acc := pld.Accountant{}
	f, err := p.Frontier(t.Context(), acc, 12)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Tighten(t.Context(), acc); err != nil {
		t.Fatal(err)
	}
	if len(f.Rows) < 12 || f.Rows[0].SampleSize != 1 || f.Rows[len(f.Rows)-1].SampleSize != 10000 {
		t.Errorf("%d rows: %+v", len(f.Rows), f.Rows)
	}
	own := false
	for i, r := range f.Rows {
		if i > 0 && (r.SampleSize <= f.Rows[i-1].SampleSize || *r.AddOrRemove <= *f.Rows[i-1].AddOrRemove ||
			*r.ReplaceOne <= *f.Rows[i-1].ReplaceOne) {
			t.Errorf("s = %d after %d is not farther along", r.SampleSize, f.Rows[i-1].SampleSize)
		}
		if r.SampleSize == p.Run.SampleSize {
			own = true
			if least := p.Tight.AddOrRemove.LeastNoise.Sigma; *r.AddOrRemove != least {
				t.Errorf("the plan's own run needs σ = %v here, %v by Tighten", *r.AddOrRemove, least)
			}
			if least := p.Tight.ReplaceOne.LeastNoise.Sigma; *r.ReplaceOne != least {
				t.Errorf("the plan's own run needs σ = %v here, %v by Tighten", *r.ReplaceOne, least)
			}
		}
		if (r.ClosedForm != nil) != (r.SampleSize <= 31) || r.ClosedForm != nil &&
			(*r.ClosedForm < 19.2996199 || *r.ClosedForm > 19.29963) {
			t.Errorf("s = %d: closed form %v", r.SampleSize, r.ClosedForm)
		}
		for a, sigma := range map[dp.Adjacency]*float64{dp.AddOrRemove: r.AddOrRemove, dp.ReplaceOne: r.ReplaceOne} {
			e := dp.Event{Sampling: dp.Poisson, Adjacency: a, NoiseMultiplier: *sigma, SampleSize: r.SampleSize,
				DatasetSize: 10000, Count: r.Rounds}
			if b, err := acc.Epsilon(t.Context(), []dp.Event{e}, p.Delta); err != nil || b.EpsilonUpper > p.Epsilon ||
				b.EpsilonUpper < p.Epsilon*(1-1e-3) || r.Rounds != roundsOf(50000, r.SampleSize) {
				t.Errorf("%+v: %+v, %v", r, b, err)
			}
		}
	}
	if !own {
		t.Error("the plan's own size is missing")
	}

	var text strings.Builder
	if err := f.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(records) != len(f.Rows)+1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if header := strings.Join(records[0], " "); header != "sample_size rounds sample_rate sigma_closed_form "+
		"sigma_add_or_remove sigma_replace_one grad_computations signal" {
		t.Errorf("header %s", header)
	}
	for i, r := range records[1:] {
		if r[2] != decimal.Exactly(f.Rows[i].SampleRate) || r[5] != decimal.Exactly(*f.Rows[i].ReplaceOne) {
			t.Errorf("record %v of %+v", r, f.Rows[i])
		}
		if r[0] != strconv.Itoa(f.Rows[i].SampleSize) || (r[3] == "") != (f.Rows[i].ClosedForm == nil) ||
			r[4] != decimal.Exactly(*f.Rows[i].AddOrRemove) {
			t.Errorf("record %v of %+v", r, f.Rows[i])
		}
	}
	text.Reset()
	if err := f.WriteText(&text); err != nil || strings.Count(text.String(), "\n") != len(f.Rows)+3 ||
		!strings.Contains(text.String(), "pld, replace-one") {
		t.Errorf("%v:\n%s", err, text.String())
	}
	if err := f.WriteCSV(broken{}); err == nil {
		t.Error("the writer's error is lost")
	}
	if _, err := solve(t, Request{Method: ClosedForm, N: 10, Epochs: 0.05, Sigma: 10, Delta: 0.1}).Frontier(t.Context(), acc,
		12); err == nil {
		t.Error("a frontier of no computations")
	}
}

// The number of points is limited.
func TestFrontierPoints(t *testing.T) {
	p := solve(t, Request{Method: ClosedForm, N: 1000, Delta: 1e-3, Epochs: 5, Epsilon: 1})
	for _, points := range []int{0, -1, MaxPoints + 1, math.MaxInt} {
		_, err := p.Frontier(t.Context(), rdp.Accountant{}, points)
		if want := fmt.Sprintf("points = %d, must be in [1, 1000]", points); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestGeometric(t *testing.T) {
	for _, tt := range []struct {
		least, most, points int
		want                string
	}{{1, 1000, 4, "[1 10 100 1000]"}, {1, 3, 10, "[1 2 3]"}, {7, 7, 3, "[7]"}, {8, 7, 3, "[]"}, {1, 10, 1, "[1]"}} {
		var got []string
		for _, v := range geometric(tt.least, tt.most, tt.points) {
			got = append(got, strconv.Itoa(v))
		}
		if "["+strings.Join(got, " ")+"]" != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// The budget of a frontier is the plan's target, of which the plan's run may need only a part. Every σ is
// within the printed ε.
func TestFrontierIsWithinTheBudgetThatItStates(t *testing.T) {
	p := solve(t, Request{N: 10000, Delta: 1e-4, Rounds: 10, Sigma: 50, Epsilon: 5, Method: RDP})
	f, err := p.Frontier(t.Context(), rdp.Accountant{}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if p.Epsilon > 1 || f.Epsilon != 5 {
		t.Errorf("a run of ε = %v within 5 has a frontier for ε = %v", p.Epsilon, f.Epsilon)
	}
	for _, r := range f.Rows {
		for a, sigma := range map[dp.Adjacency]*float64{dp.AddOrRemove: r.AddOrRemove, dp.ReplaceOne: r.ReplaceOne} {
			e := dp.Event{Sampling: dp.Poisson, Adjacency: a, NoiseMultiplier: *sigma, SampleSize: r.SampleSize,
				DatasetSize: 10000, Count: r.Rounds}
			if b, err := (rdp.Accountant{}).Epsilon(t.Context(), []dp.Event{e}, p.Delta); err != nil ||
				b.EpsilonUpper > f.Epsilon {
				t.Errorf("%+v, %s: %+v, %v", r, a, b, err)
			}
		}
		if r.ClosedForm == nil {
			continue
		}
		e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: *r.ClosedForm,
			SampleSize: r.SampleSize, DatasetSize: 10000, Count: r.Rounds}
		if b, err := (closedform.Accountant{}).Epsilon(t.Context(), []dp.Event{e}, p.Delta); err != nil ||
			b.EpsilonUpper > f.Epsilon {
			t.Errorf("%+v, closed form: %+v, %v", r, b, err)
		}
	}
}
