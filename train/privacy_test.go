package train

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/dp/pld"
	"proactivedp/sim"
)

// planned is the privacy report of the small spec, changed.
func planned(t *testing.T, change func(*Spec)) claim.Report {
	t.Helper()
	s := smallSpec()
	change(&s)
	p, err := s.Prepare(drawn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return plannedPrivacy(t, p)
}

func plannedPrivacy(t *testing.T, p *Prepared) claim.Report {
	t.Helper()
	r, err := p.PlannedPrivacy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// manyRounds is a change under which the closed form covers both views.
func manyRounds(s *Spec) {
	s.NoiseMultiplier, s.GradComps, s.SampleSize, s.Delta = 60, 600, "1", 1e-5
}

// Clients in separate processes draw noise from their own secrets. So the planned noise has no name, is
// not that of the seed, and is not a simulation.
func TestPlannedNoiseOfOwnProcesses(t *testing.T) {
	for _, exact := range []bool{false, true} {
		r := planned(t, func(s *Spec) { s.Runner, s.Exact = DistributedRunner, exact })
		if len(r.Noise) != 0 || r.Simulation || r.Drawn != claim.Drawn(exact, nil) {
			t.Errorf("exact %v: noise of %v, simulation %v, drawn %q", exact, r.Noise, r.Simulation, r.Drawn)
		}
	}
}

func TestPrivacyReportKeys(t *testing.T) {
	text, err := json.Marshal(planned(t, manyRounds))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"": "accountant adjacency certified closed_form delta epsilon epsilon_lower epsilon_upper kind noise " +
			"noise_multiplier per_client per_record sampling simulation sum",
		"per_client":  "dataset_size delta epsilon epsilon_lower epsilon_upper grad_computations kind rounds sample_rate",
		"per_record":  "dataset_size delta epsilon epsilon_lower epsilon_upper grad_computations kind rounds sample_rate",
		"closed_form": "accountant epsilon_upper kind per_client per_record",
		"certified":   "per_client per_record",
		"certified.per_client": "accountant adjacency dataset_size delta epsilon epsilon_lower epsilon_upper " +
			"grad_computations kind rounds sampling",
		"certified.per_record": "accountant adjacency dataset_size delta epsilon epsilon_lower epsilon_upper " +
			"grad_computations kind rounds sampling",
	} {
		at := text
		for _, key := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' }) {
			var m map[string]json.RawMessage
			if err := json.Unmarshal(at, &m); err != nil {
				t.Fatal(err)
			}
			at = m[key]
		}
		var m map[string]any
		if err := json.Unmarshal(at, &m); err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(m)), " "); got != want {
			t.Errorf("%q: keys %s, want %s", path, got, want)
		}
	}
}

// The keys per record, per client and at the top level have what pld certifies: for 50 rounds of 6 of 320
// records of one client, and for five times as many. The key certified repeats them.
func TestCertifiedIsPld(t *testing.T) {
	r := planned(t, func(*Spec) {})
	certified := r.Certified
	if r.Accountant != "pld" || r.Kind != dp.Interval || r.EpsilonUpper != certified.PerRecord.EpsilonUpper ||
		r.EpsilonLower != certified.PerRecord.EpsilonLower || r.PerRecord.EpsilonUpper != certified.PerRecord.EpsilonUpper ||
		r.PerClient.EpsilonUpper != certified.PerClient.EpsilonUpper || r.ClosedForm.Accountant != "closed-form" ||
		r.ClosedForm.EpsilonUpper != r.ClosedForm.PerRecord.EpsilonUpper {
		t.Errorf("headline %+v", r)
	}
	for _, c := range []struct {
		got    claim.Claim
		rounds int
	}{{r.Certified.PerClient, 50}, {r.Certified.PerRecord, 250}} {
		want, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{{
			Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 19.29962,
			SampleSize: 6, DatasetSize: 320, Count: c.rounds,
		}}, 1.0/320)
		if err != nil {
			t.Fatal(err)
		}
		if *c.got.EpsilonLower != want.EpsilonLower || *c.got.EpsilonUpper != want.EpsilonUpper ||
			c.got.Kind != dp.Interval {
			t.Errorf("%d rounds: %+v, want %+v", c.rounds, c.got, want)
		}
	}
}

// The certified ε is at most that of the closed form. The ε per client is at most the ε per record, and
// equal with shards.
func TestCertifiedIsTighter(t *testing.T) {
	for _, partition := range []string{"replicate", "shard"} {
		r := planned(t, func(s *Spec) {
			manyRounds(s)
			s.Partition, s.SampleSize, s.GradComps = partition, "linear:1,0.01", 200
		})
		client, record := *r.Certified.PerClient.EpsilonUpper, *r.Certified.PerRecord.EpsilonUpper
		closed := r.ClosedForm
		if client > *closed.PerClient.EpsilonUpper || record > *closed.PerRecord.EpsilonUpper {
			t.Errorf("%s: certified %v and %v, closed form %v and %v", partition, client, record,
				*closed.PerClient.EpsilonUpper, *closed.PerRecord.EpsilonUpper)
		}
		if equal := client == record; equal != (partition == "shard") || client > record {
			t.Errorf("%s: certified %v per client, %v per record", partition, client, record)
		}
	}
}

// Fixed-size sampling has no closed form, but a certified interval.
func TestFixedSamplingIsCertified(t *testing.T) {
	r := planned(t, func(s *Spec) { s.Sampling = "fixed" })
	if c := r.ClosedForm; c.EpsilonUpper != nil || !strings.Contains(c.Reason, "the theorem needs poisson under add-or-remove") {
		t.Errorf("closed form: %v, %q", c.EpsilonUpper, c.Reason)
	}
	for _, s := range []claim.Claim{r.Certified.PerClient, r.Certified.PerRecord} {
		if s.Kind != dp.Interval || s.Adjacency != dp.ReplaceOne || s.Sampling != dp.FixedSize ||
			!(*s.EpsilonUpper >= *s.EpsilonLower && *s.EpsilonLower > 0) {
			t.Errorf("%+v", s)
		}
	}
}

// The privacy text states everything that is proved, and states no ε if there is none.
func TestPrivacyText(t *testing.T) {
	text := func(r claim.Report) string {
		var b bytes.Buffer
		if err := r.WriteStatement(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	r := planned(t, manyRounds)
	whose := "  noise         seed 1, run 0\n    SIMULATION  anyone who knows the seed can subtract the noise"
	if !strings.Contains(text(r), whose) {
		t.Errorf("no %q in\n%s", whose, text(r))
	}
	r.Noise = nil
	var printed []float64
	for _, word := range strings.Fields(strings.ReplaceAll(text(r), ",", "")) {
		if x, err := strconv.ParseFloat(word, 64); err == nil {
			printed = append(printed, x)
		}
	}
	// After σ and δ, of each view: N, rounds, mean rate, and three ε.
	if len(printed) != 2+2*6 {
		t.Fatalf("%d numbers in\n%s", len(printed), text(r))
	}
	record, client := r.Certified.PerRecord, r.Certified.PerClient
	for _, c := range []struct{ printed, lower, upper float64 }{
		{printed[5], *r.ClosedForm.PerRecord.EpsilonUpper, 2}, {printed[6], 0, *record.EpsilonLower},
		{printed[7], *record.EpsilonUpper, 2},
		{printed[11], *r.ClosedForm.PerClient.EpsilonUpper, 2}, {printed[12], 0, *client.EpsilonLower},
		{printed[13], *client.EpsilonUpper, 2},
	} {
		if !(c.printed >= c.lower && c.printed <= c.upper) {
			t.Errorf("%v is not in [%v, %v]:\n%s", c.printed, c.lower, c.upper, text(r))
		}
	}
	for _, want := range []string{"add-or-remove adjacency", "poisson sampling", "an upper bound",
		"a certified interval"} {
		if !strings.Contains(text(r), want) {
			t.Errorf("no %q in\n%s", want, text(r))
		}
	}
	if none := text(planned(t, func(s *Spec) { s.NoiseMultiplier = 0 })); strings.Count(none, "no ε claimed: ") != 4 ||
		strings.Contains(none, "≤") {
		t.Errorf("without noise:\n%s", none)
	}
}

// The planned upper bound is never below that of the run, because an adapted batch size is at most the
// largest planned one. (In an earlier version, the closed form with varying sizes exceeded the plan,
// because of θ.)
func TestRunIsWithinThePlan(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 5))
	claimed := 0
	for i := range 60 {
		s := smallSpec()
		manyRounds(&s)
		s.NoiseMultiplier = 5 + 80*r.Float64()
		s.Adapt = 1.1 + 8*r.Float64()
		s.Speeds = []string{"", "1,1,1,2,0.1", "lognormal:0.5"}[r.IntN(3)]
		s.Compute = []string{"constant:10us", "pareto:10us,1.1"}[r.IntN(2)]
		s.SampleSize = []string{"1", "3", "linear:1,0.02"}[r.IntN(3)]
		s.Partition = []string{"replicate", "shard"}[r.IntN(2)]
		s.GradComps = 200 + r.IntN(400)
		s.Seed = uint64(i)
		p, err := s.Prepare(drawn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		result, err := p.Run(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		released, err := p.ReleasedPrivacy(t.Context(), result)
		if err != nil {
			t.Fatal(err)
		}
		before := plannedPrivacy(t, p)
		for _, c := range []struct {
			what          string
			planned, done *float64
		}{
			{"closed form per client", before.PerClient.EpsilonUpper, released.PerClient.EpsilonUpper},
			{"closed form per record", before.PerRecord.EpsilonUpper, released.PerRecord.EpsilonUpper},
			{"certified per client", before.Certified.PerClient.EpsilonUpper,
				released.Certified.PerClient.EpsilonUpper},
			{"certified per record", before.Certified.PerRecord.EpsilonUpper,
				released.Certified.PerRecord.EpsilonUpper},
		} {
			if c.planned == nil {
				continue
			}
			claimed++
			if c.done == nil || *c.done > *c.planned {
				t.Errorf("%+v: %s: planned ≤ %v, then %v", s, c.what, *c.planned, c.done)
			}
		}
	}
	if claimed < 150 {
		t.Errorf("only %d bounds were planned", claimed)
	}
}

// Noise is secret if its seed is, and where clients draw it themselves.
func TestWhatIsSecret(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want bool
	}{
		{Spec{}, false}, {Spec{Runner: VirtualRunner}, false}, {Spec{SeedFromOS: true}, true},
		{Spec{Runner: DistributedRunner}, true}, {Spec{SeedFromOS: true, Runner: DistributedRunner}, true},
	} {
		if got := c.spec.Secret(); got != c.want {
			t.Errorf("%q, from the system %v: %v", c.spec.Runner, c.spec.SeedFromOS, got)
		}
	}
}
