package training

import (
	"reflect"
	"testing"

	"proactivedp/auto"
	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/experiments"
	"proactivedp/rng"
	"proactivedp/sim"
	"proactivedp/train"
)

// The course of a real loop is that of its ledgers: a budget is spent in the stages in
// which its client takes part, ever more of it at ever less noise, and within ε.
func TestCourseOfALoop(t *testing.T) {
	spec := train.DefaultSpec()
	spec.Clients, spec.Partition, spec.Holdout = 2, string(data.Shard), 0.1
	r := experiments.LoopRequest{Train: spec, Strategy: string(auto.Tight),
		Clients: []experiments.CourseClient{{Epsilon: 0.5, Accuracy: 0.5}, {Epsilon: 2, Accuracy: 1}}}
	source := train.NewSource(synth.OneHot(rng.New(3), 2400))
	c, err := runLoop(t.Context(), source, r, sim.Perf{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	again, err := runLoop(t.Context(), source, r, sim.Perf{Workers: 2})
	if err != nil || !reflect.DeepEqual(c, again) {
		t.Errorf("another course of the same request, error %v:\n%+v\n%+v", err, c, again)
	}
	if !c.Clients[0].Satisfied || c.Clients[1].Satisfied || c.Clients[1].Refused == "" {
		t.Errorf("targets 0.5 and 1: %+v", c.Clients)
	}
	if len(c.Stages) < 2 {
		t.Fatalf("%d stages, want the budget of client 1 in several", len(c.Stages))
	}
	for i, client := range c.Clients {
		if client.EpsilonUpper > r.Clients[i].Epsilon {
			t.Errorf("client %d: ε ≤ %v is guaranteed, wanted is %v", i, client.EpsilonUpper, r.Clients[i].Epsilon)
		}
		used, sigma := 0.0, 0.0
		for number, s := range c.Stages {
			if in := s.Sigma[i] > 0; in != (s.Used[i] > used) || s.Used[i] > 1 {
				t.Errorf("stage %d: client %d takes part: %v, and has spent %v after %v", number, i, in, s.Used[i],
					used)
			}
			if sigma > 0 && s.Sigma[i] >= sigma {
				t.Errorf("stage %d: client %d: σ = %v after %v", number, i, s.Sigma[i], sigma)
			}
			used = s.Used[i]
			if s.Sigma[i] > 0 {
				sigma = s.Sigma[i]
			}
		}
	}
}
