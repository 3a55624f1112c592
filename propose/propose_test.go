package propose

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp/pld"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// request is of 800 drawn rows, at an ε at which they can be told apart.
func request() Request {
	base := train.DefaultSpec()
	base.Data, base.Clients = "drawn", 2
	r := DefaultRequest(base, 0.5)
	r.Rounds, r.Seeds, r.Count = []int{60}, 3, 2
	return r
}

// options probe what they are asked about.
func options(workers int) Options {
	source := train.NewSource(synth.OneHot(rng.New(3), 800))
	return Options{Data: source, Probe: source, Probing: Own, Trials: pool.Options{Workers: workers},
		Perf: sim.Perf{Workers: workers}}
}

func propose(t *testing.T, r Request, o Options) *Report {
	t.Helper()
	report, err := Propose(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// timeless is the report as JSON without what a clock or a finished cell decides.
func timeless(t *testing.T, r *Report) string {
	t.Helper()
	c := *r
	c.Proposals = slices.Clone(r.Proposals)
	for i := range c.Proposals {
		c.Proposals[i].Seconds = 0
	}
	c.Probe.Computed = 0
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every setting in the report states its ε, which the accountant certifies to be at most the target. The
// settings are ranked.
func TestSettingsAreWithinTheBudget(t *testing.T) {
	r, o := request(), options(2)
	report := propose(t, r, o)
	within := func(spec train.Spec, epsilon float64) {
		t.Helper()
		p, err := o.Data.Prepare(spec)
		if err != nil {
			t.Fatal(err)
		}
		private, err := p.Config.PlannedPrivacy(t.Context(), pld.Accountant{}, p.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if eps := private.PerRecord.EpsilonUpper; eps == nil || *eps > epsilon || *eps < 0.98*epsilon {
			t.Errorf("ε = %v of s = %s, must be just within %v", eps, spec.SampleSize, epsilon)
		}
		if private.PerRecord.DatasetSize != report.Records {
			t.Errorf("%d records, must be %d", private.PerRecord.DatasetSize, report.Records)
		}
	}
	if len(report.Proposals) != r.Count {
		t.Fatalf("%d proposals, must be %d", len(report.Proposals), r.Count)
	}
	for i, p := range report.Proposals {
		within(p.Setting, r.Epsilon)
		if p.Rank != i+1 || p.Updates != p.Rounds*r.Base.Clients || p.Gradients != p.Setting.GradComps*r.Base.Clients ||
			p.GradComps != p.Setting.GradComps || p.Seconds <= 0 || len(p.Seeds) < r.Seeds {
			t.Errorf("proposal %d: %+v", i, p)
		}
		if !(p.Low < p.Accuracy && p.Accuracy < p.High) {
			t.Errorf("proposal %d: %v not in [%v, %v]", i, p.Accuracy, p.Low, p.High)
		}
		if p.Setting.Holdout != 0 || p.Setting.Run != r.Base.Run || p.Setting.Seed != r.Base.Seed {
			t.Errorf("proposal %d is not of the base: %+v", i, p.Setting)
		}
		before := report.Proposals[max(i-1, 0)]
		if len(p.Seeds) > len(before.Seeds) || len(p.Seeds) == len(before.Seeds) &&
			p.Accuracy > before.Accuracy+1.01*rankStep {
			t.Errorf("proposal %d is better than the one before", i)
		}
	}
	for _, p := range report.Frontier {
		within(p.Setting, p.Epsilon)
	}
}

// At one ε, settings with more noise need more gradients. At one noise multiplier, a larger ε allows more
// gradients.
func TestCostGrowsWithNoiseAndWithEpsilon(t *testing.T) {
	points := propose(t, request(), options(2)).Frontier
	if len(points) != len(ladder)*len(triedNoise) {
		t.Fatalf("%d points, must be %d", len(points), len(ladder)*len(triedNoise))
	}
	for i, p := range points {
		for _, q := range points[:i] {
			if p.Epsilon == q.Epsilon && (p.noise > q.noise) != (p.Gradients > q.Gradients) {
				t.Errorf("at ε = %v %d gradients with noise %v, %d with %v", p.Epsilon, p.Gradients, p.noise,
					q.Gradients, q.noise)
			}
			if p.noise == q.noise && (p.Epsilon > q.Epsilon) != (p.Gradients > q.Gradients) {
				t.Errorf("with noise %v %d gradients at ε = %v, %d at %v", p.noise, p.Gradients, p.Epsilon, q.Gradients,
					q.Epsilon)
			}
		}
	}
}

// The answer does not depend on the number of workers, or on whether the call was interrupted. Proxies
// that are finished do not run again.
func TestSameAnswerByAnyWay(t *testing.T) {
	r := request()
	r.Count = 1
	want := timeless(t, propose(t, r, options(1)))
	for _, workers := range []int{5} {
		if got := timeless(t, propose(t, r, options(workers))); got != want {
			t.Errorf("%d workers:\n%s\nmust be\n%s", workers, got, want)
		}
	}
	kept := options(2)
	kept.Trials.Folder = t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	s, err := newSearcher(r, kept)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.search(ctx, r.Epsilon, nil); err != nil {
		t.Fatal(err)
	}
	cancel(enough)
	if _, err := Propose(ctx, r, kept); !errors.Is(err, enough) {
		t.Errorf("error %v, must be %v", err, enough)
	}
	report := propose(t, r, kept)
	if got := timeless(t, report); got != want {
		t.Errorf("gone on with:\n%s\nmust be\n%s", got, want)
	}
	if got, all := report.Probe.Computed, report.Probe.Trainings; got > all-s.computed || got < 1 {
		t.Errorf("%d of %d trainings were run again, %d were finished", got, all, s.computed)
	}
}

// If no setting meets the request, the error says what would be possible.
func TestInfeasible(t *testing.T) {
	for want, change := range map[string]func(*Request){
		"within ε = 0.0001 no round can sample": func(r *Request) { r.Epsilon, r.Base.Delta = 1e-4, 1e-9 },
		"lower the target accuracy to 0.":       func(r *Request) { r.TargetAccuracy = 0.999 },
	} {
		r := request()
		change(&r)
		_, err := Propose(t.Context(), r, options(2))
		if _, infeasible := errors.AsType[*Infeasible](err); !infeasible || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// The least ε for a target accuracy is smaller for a lower target. All its proposals are predicted to
// reach the target.
func TestLeastEpsilon(t *testing.T) {
	last := 0.0
	for _, target := range []float64{0.7, 0.88} {
		r := request()
		r.Epsilon, r.TargetAccuracy, r.Count = 0, target, 1
		report := propose(t, r, options(2))
		if report.TargetEpsilon <= last {
			t.Errorf("ε = %v for %v, must be above %v", report.TargetEpsilon, target, last)
		}
		last = report.TargetEpsilon
		for _, p := range report.Proposals {
			if p.Accuracy < target {
				t.Errorf("%v is predicted, must be at least %v", p.Accuracy, target)
			}
		}
	}
}

// Validate reports all errors of a request at once.
func TestValidateSaysAll(t *testing.T) {
	r := request()
	r.Epsilon, r.TargetAccuracy, r.Seeds, r.Count, r.Rounds = 1000, 1, 2, 0, []int{1}
	r.Base.Sampling, r.Base.Holdout, r.Base.Adapt, r.Base.Delta = "fixed", 0.5, 2, 2
	r.Base.BoundsEpsilon = 0.1 // not part of the ε of a proposal
	err := r.Validate()
	for _, want := range []string{"epsilon = 1000", "target accuracy = 1", "seeds = 2", "count = 0", "sampling = ",
		"holdout = 0.5", "adapt = 2", "delta = 2", "rounds = 1 ", "bounds epsilon = 0.1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// Proxies never share their noise with the training. Each is judged by other held-out rows, and none uses
// the test set.
func TestProxiesHoldOut(t *testing.T) {
	s, err := newSearcher(request(), options(1))
	if err != nil {
		t.Fatal(err)
	}
	seen, held := map[int32]int{}, 0
	for number := range s.Seeds {
		spec := s.probeOf(s.base, number)
		p, err := s.Probe.Prepare(spec)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := s.Data.Prepare(s.base)
		if err != nil {
			t.Fatal(err)
		}
		if spec.Run == s.base.Run {
			t.Error("a proxy is of the run of the training")
		}
		held += p.Test.Len()
		for _, row := range p.Test.Rows {
			seen[row]++
			if slices.Contains(whole.Test.Rows, row) {
				t.Fatalf("row %d of the test set judges a proxy", row)
			}
			if slices.Contains(p.Config.Rows[0].Rows, row) {
				t.Fatalf("row %d is held out and trained on", row)
			}
		}
	}
	for row, times := range seen {
		if times > 1 {
			t.Errorf("row %d is held out %d times", row, times)
		}
	}
	if len(seen) != held {
		t.Errorf("%d rows are held out, must be %d", len(seen), held)
	}
}

// There are proposals even if the budget allows nearly all records in each round. A proxy holds some
// records out, so its batches are not larger than the rest.
func TestFewRoundsOfNearlyAllRecords(t *testing.T) {
	r := request()
	r.Base.Clients, r.Epsilon, r.Rounds = 1, 10, []int{5}
	o := options(2)
	report := propose(t, r, o)
	p, err := o.Data.Prepare(r.Base)
	if err != nil {
		t.Fatal(err)
	}
	n := p.Config.Mechanism.DatasetSize
	largest := 0
	for _, proposal := range report.Proposals {
		size, err := strconv.Atoi(proposal.Setting.SampleSize)
		if err != nil || size > n {
			t.Errorf("s = %s of N = %d, %v", proposal.Setting.SampleSize, n, err)
		}
		largest = max(largest, size)
	}
	if largest <= n-n/usualFolds {
		t.Errorf("the largest s is %d of N = %d: a proxy has as many", largest, n)
	}
}

// Each row judges only one seed, and there are not more judging rows than training rows, however often the
// number of seeds is doubled.
func TestJudgingRowsAreNoMoreThanThereAre(t *testing.T) {
	o := options(1)
	s, err := newSearcher(request(), o)
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := s.base.SplitRows(o.Probe.Data(), rng.New(s.base.Seed))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.judged(float64(s.Seeds)), float64(s.Seeds*s.holdout); got != want {
		t.Errorf("%d seeds are judged by %v rows, must be %v: each holds out others", s.Seeds, got, want)
	}
	if got := s.judged(160); got > float64(rows.Len()) {
		t.Errorf("160 seeds are judged by %v rows of %d", got, rows.Len())
	}
}

// Proposals are ranked by the metric of the base. A target that can be reached without features is refused
// for every metric. Private probing refuses all metrics except the accuracy, because its noise is for a
// count.
func TestProposeByAMetric(t *testing.T) {
	r := request()
	r.Base.Metric, r.Count = "auc", 1
	report := propose(t, r, options(2))
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if best := report.Proposals[0]; report.Metric != "auc" || best.Setting.Metric != "auc" || best.Accuracy < 0.9 ||
		!strings.Contains(text.String(), "predicted auc 0.9") || strings.Contains(text.String(), "accura") {
		t.Errorf("metric %q, predicted %v:\n%s", report.Metric, best.Accuracy, &text)
	}
	r.Epsilon = 0
	for metric, guess := range map[string]string{"auc": "0.5", "balanced-accuracy": "0.5", "accuracy": "0.5"} {
		r.Base.Metric, r.TargetAccuracy = metric, 0.499
		if _, err := Propose(t.Context(), r, options(1)); err == nil || !strings.Contains(err.Error(), "must be above "+guess) {
			t.Errorf("%s of 0.499: %v", metric, err)
		}
	}
	r.Epsilon, r.TargetAccuracy, r.Base.Metric = 1, 0, "f1"
	if err := (Options{Probing: Private}).Validate(r); err == nil || !strings.Contains(err.Error(), `metric = "f1" with private probes`) {
		t.Errorf("private probing by F1: %v", err)
	}
}
