package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/plan"
	"proactivedp/rng"
	"proactivedp/sim"
)

// If a setting was found by using the private records, every report of its training says that its own ε is
// not all that the records paid.
func TestSettingSaysWhatFindingItCost(t *testing.T) {
	source := NewSource(drawn())
	setting, err := json.Marshal(smallSpec())
	if err != nil {
		t.Fatal(err)
	}
	file := func(probe string) []byte {
		return fmt.Appendf(nil, `{"target_epsilon":9,"probe":%s,"proposals":[{"rank":1,"setting":%s}]}`, probe, setting)
	}
	const alone, together = `{"epsilon_upper":0.25,"delta":1e-5}`, `{"epsilon_upper":0.5,"delta":1e-5}`
	for probe, want := range map[string]string{
		`{"kind":"own"}`: "",
		`{"private":{"alone":` + alone + `,"together":` + together + `}}`: "private selection on these records, " +
			"which cost ε ≤ 0.25 at δ = 1e-05, or ε ≤ 0.5 at δ = 1e-05 together",
		`{"private":{"together":` + together + `}}`: "which cost an ε that the file does not state, or ε ≤ 0.5",
	} {
		s, err := ReadSetting(file(probe), 1)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Over(Spec{}).Prepare(source.Data(), nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Notes = s.Notes()
		r, err := p.Train(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err := p.Forecast(t.Context(), sim.Perf{})
		if err != nil {
			t.Fatal(err)
		}
		for _, notes := range [][]string{r.Notes, f.Notes} {
			text := strings.Join(notes, "; ")
			if !strings.Contains(text, want) || want == "" && strings.Contains(text, "selection") {
				t.Errorf("%s: %q, want %q", probe, text, want)
			}
		}
	}
}

// A proposed setting without noise multiplier or δ is refused. As 0, they would mean a training without
// noise, or another δ.
func TestProposalsSayTheirNoise(t *testing.T) {
	spec := smallSpec()
	spec.NoiseMultiplier = 0
	whole, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	read := func(setting []byte) error {
		_, err := ReadSetting(fmt.Appendf(nil, `{"proposals":[{"rank":1,"setting":%s}]}`, setting), 1)
		return err
	}
	if err := read(whole); err != nil {
		t.Errorf("σ = 0 that is said: %v", err)
	}
	for _, key := range []string{"sigma", "delta"} {
		for _, value := range []string{"", "null"} {
			var keys map[string]json.RawMessage
			if err := json.Unmarshal(whole, &keys); err != nil {
				t.Fatal(err)
			}
			if delete(keys, key); value != "" {
				keys[key] = json.RawMessage(value)
			}
			setting, err := json.Marshal(keys)
			if err != nil {
				t.Fatal(err)
			}
			want := "the setting of the proposal of rank 1 has no " + key + ", which must be given"
			if err := read(setting); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s = %q: error %v", key, value, err)
			}
		}
	}
}

// A plan that names its noise is refused for clients in separate processes, even if it names the spec's
// seed: nobody can know the name of their noise beforehand.
func TestPlansNameNoNoiseOfProcesses(t *testing.T) {
	source, spec := NewSource(drawn()), smallSpec()
	spec.Runner = DistributedRunner
	p, err := source.Prepare(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{spec.Seed, spec.Seed + 1} {
		s := Setting{planned: plannedRun{Noise: rng.New(seed).Name()}}
		want := fmt.Sprintf("the plan is for noise from %s, but here each client has its own noise",
			rng.New(seed).Name())
		if err := s.Fits(t.Context(), p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("seed %d: error %v, want %q", seed, err, want)
		}
	}
	if err := (&Setting{planned: plannedRun{Feasible: true}}).Fits(t.Context(), p); err != nil {
		t.Errorf("a plan that names no noise: %v", err)
	}
}

// A plan for replace-one adjacency is compared with the ε of the run under this adjacency. Under
// add-or-remove, in which the run reports its ε, a quarter more rounds would pass.
func TestSettingKeepsItsAdjacency(t *testing.T) {
	source, usual := NewSource(drawn()), smallSpec()
	usual.Clients = 1
	of, err := source.Prepare(usual)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Solve(t.Context(), plan.Request{N: of.Config.Mechanism.DatasetSize, Rounds: 40, SampleSize: 10,
		Epsilon: 2, Delta: 1e-5, Method: plan.PLD, Adjacency: dp.ReplaceOne})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(planned)
	if err != nil {
		t.Fatal(err)
	}
	for rounds, refused := range map[int]bool{40: false, 50: true} {
		file := strings.Replace(string(text), `"rounds":40,"grad_computations":400`,
			fmt.Sprintf(`"rounds":%d,"grad_computations":%d`, rounds, 10*rounds), 1)
		s, err := ReadSetting([]byte(file), 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := source.Prepare(s.Over(usual))
		if err != nil || p.Config.Run().Rounds != rounds {
			t.Fatalf("%d rounds, %v", p.Config.Run().Rounds, err)
		}
		if err := s.Fits(t.Context(), p); errors.Is(err, ErrCostsMore) != refused || err != nil && !refused {
			t.Errorf("%d rounds: %v, must be refused: %v", rounds, err, refused)
		} else if most := decimal.Exactly(*s.allowed); refused && !strings.HasSuffix(err.Error(), "at most "+most) {
			t.Errorf("%v: its file allows at most %s", err, most)
		}
		notes := strings.Join(s.Notes(), "; ")
		if !strings.Contains(notes, "the plan's ε is for replace-one adjacency") {
			t.Errorf("notes %q", notes)
		}
	}
}

// A plan or proposal is refused if σ, rounds or clients in its file were changed so that it costs more
// than its ε.
func TestSettingCostsNoMoreThanItsFileSays(t *testing.T) {
	source := NewSource(drawn())
	of, err := source.Prepare(smallSpec())
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Solve(t.Context(), plan.Request{N: of.Config.Mechanism.DatasetSize, Rounds: 40, SampleSize: 10,
		Epsilon: 2, Delta: 1e-5, Method: plan.PLD})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(planned)
	if err != nil {
		t.Fatal(err)
	}
	sigma := fmt.Sprintf("\"sigma\":%v", planned.Sigma)
	rounds := `"rounds":40,"grad_computations":400`
	record := `{"certified":{"per_record":{"epsilon_upper":%v}},"rank":1,"setting":%s}`
	spec := smallSpec()
	spec.NoiseMultiplier = 3
	setting, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	proposed := func(epsilon any, target float64) string {
		return fmt.Sprintf(`{"target_epsilon":%v,"proposals":[`+record+`]}`, target, epsilon, setting)
	}
	for _, c := range []struct {
		name, file string
		refused    bool
	}{
		{"the plan", string(text), false},
		{"a plan with less noise", strings.Replace(string(text), sigma, `"sigma":0.7`, 1), true},
		{"a plan without noise", strings.Replace(string(text), sigma, `"sigma":0`, 1), true},
		{"a plan with more rounds", strings.Replace(string(text), rounds, `"rounds":400,"grad_computations":4000`, 1),
			true},
		{"a plan by all clients of one set", strings.Replace(string(text), `"clients":1,"shared":false`,
			`"clients":30,"shared":true`, 1), true},
		{"a proposal", proposed(50, 0), false},
		{"a proposal without a claim", proposed("null", 0.001), false},
		{"a proposal that costs more", proposed(0.01, 0), true},
		{"a proposal within its target", proposed(0.01, 50), false},
	} {
		s, err := ReadSetting([]byte(c.file), 0)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if c.refused && c.file == string(text) {
			t.Fatalf("%s is not what was planned: nothing was changed in %s", c.name, text)
		}
		usual := smallSpec()
		usual.Clients = 1
		p, err := source.Prepare(s.Over(usual))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := s.Fits(t.Context(), p); (err != nil) != c.refused {
			t.Errorf("%s: error %v, must be refused: %v", c.name, err, c.refused)
		} else if err != nil && !strings.Contains(err.Error(), "its file") {
			t.Errorf("%s: error %v does not tell of the file", c.name, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := s.Fits(ctx, p); s.allowed != nil && err == nil {
			t.Errorf("%s: no error once it is cancelled", c.name)
		}
	}
}

// A plan without one of the numbers that decide its privacy, or with an unknown key in its run, is
// refused. A missing σ would mean a training without noise.
func TestSettingLacksNothing(t *testing.T) {
	planned, err := plan.Solve(t.Context(), plan.Request{N: 400, Rounds: 40, SampleSize: 10, Epsilon: 2, Delta: 1e-5,
		Method: plan.PLD})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(planned)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSetting(text, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, value, want string }{
		{"sigma", "", "no sigma"}, {"sigma", "null", "no sigma"}, {"delta", "", "no delta"},
		{"run", `{"sample_size": 10, "sizes": "list:1,400"}`, `unknown field "sizes"`},
	} {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		if delete(keys, c.key); c.value != "" {
			keys[c.key] = json.RawMessage(c.value)
		}
		file, err := json.Marshal(keys)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSetting(file, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: error %v", c.key, c.value, err)
		}
	}
}
