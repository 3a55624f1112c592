package train

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/sim"
)

// The averaged model is the mean of the broadcasts by its rule. The last model does not change.
func TestAverageIsTheMeanOfBroadcasts(t *testing.T) {
	plain, _, err := prepared(t, smallSpec(), drawn()).RunKept(t.Context(), sim.Perf{}, nil, Keep{})
	if err != nil {
		t.Fatal(err)
	}
	if plain.Averaged != nil || !slices.Equal(plain.Model(), plain.Params) {
		t.Error("there is an averaged model without a rule")
	}
	const rounds = 50
	for rule, weight := range map[string]func(k, last int) float64{ // of v̂_k, not yet divided by their sum
		"tail:1":    func(int, int) float64 { return 1 },
		"tail:0.25": func(k, _ int) float64 { return oneIf(k > rounds-13) }, // ⌈12.5⌉ of 50
		"tail:1e-9": func(k, _ int) float64 { return oneIf(k == rounds) },
		"ema:0.9":   func(k, last int) float64 { return math.Pow(0.9, float64(last-k)) },
		"ema:0.001": func(k, last int) float64 { return math.Pow(0.001, float64(last-k)) },
	} {
		for _, runner := range []string{VirtualRunner, HogwildRunner} {
			s := smallSpec()
			s.Average, s.Runner = rule, runner
			var sent [][]float32
			var at []int
			o, _, err := prepared(t, s, drawn()).RunKept(t.Context(), sim.Perf{}, func(b sim.Broadcast) {
				sent, at = append(sent, slices.Clone(b.V)), append(at, b.K)
			}, Keep{})
			if err != nil {
				t.Fatal(err)
			}
			if runner == VirtualRunner && !slices.Equal(o.Params, plain.Params) {
				t.Errorf("%s: the last model is another one", rule)
			}
			if at[len(at)-1] != rounds || !slices.Equal(o.Params, sent[len(sent)-1]) {
				t.Fatalf("%s: the last broadcast is %d, not the model at the end", runner, at[len(at)-1])
			}
			counted := 0
			for i := range o.Averaged {
				sum, weights, n := 0.0, 0.0, 0
				for j := range sent {
					// A broadcast that was left out for a newer one is not counted.
					w := weight(at[j], rounds)
					if strings.HasPrefix(rule, "ema") {
						w = weight(j, len(sent)-1)
					}
					sum, weights, n = sum+w*float64(sent[j][i]), weights+w, n+int(oneIf(w > 0))
				}
				if want := sum / weights; math.Abs(float64(o.Averaged[i])-want) > 1e-6*(math.Abs(want)+1e-3) {
					t.Fatalf("%s, %s: parameter %d is %v, want %v", rule, runner, i, o.Averaged[i], want)
				}
				counted = n
			}
			if o.Broadcasts != counted || !slices.Equal(o.Model(), o.Averaged) {
				t.Errorf("%s, %s: %d broadcasts counted, want %d", rule, runner, o.Broadcasts, counted)
			}
		}
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// A report has both models. Without a rule it does not mention an average.
func TestBothModelsAreReported(t *testing.T) {
	s := smallSpec()
	s.Average = "tail:0.5"
	report := func(s Spec) (*Report, string, string) {
		r, err := prepared(t, s, drawn()).Train(t.Context(), sim.Perf{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var people strings.Builder
		if err := r.WriteText(&people); err != nil {
			t.Fatal(err)
		}
		return r, string(text), people.String()
	}
	with, text, people := report(s)
	s.Average = ""
	without, plainText, plainPeople := report(s)
	a := with.Averaged
	if a == nil || with.ParamsSHA256 != without.ParamsSHA256 || a.ParamsSHA256 == with.ParamsSHA256 ||
		with.TestAccuracy != without.TestAccuracy || a.Broadcasts != 25 || a.Loss == nil || a.Rule != "tail:0.5" {
		t.Errorf("averaged %+v, last %s, without %s", a, with.ParamsSHA256, without.ParamsSHA256)
	}
	for _, want := range []string{`"averaged":{"rule":"tail:0.5","broadcasts":25,"test_accuracy":`,
		"costs no privacy"} {
		if !strings.Contains(text, want) {
			t.Errorf("JSON lacks %s", want)
		}
	}
	if !strings.Contains(people, " by tail:0.5, of 25 broadcasts; sha256 "+a.ParamsSHA256) {
		t.Errorf("no averaged model in\n%s", people)
	}
	if strings.Contains(plainText, `"average`) || strings.Contains(plainPeople, "averaged") {
		t.Errorf("an averaged model is spoken of without one:\n%s\n%s", plainText, plainPeople)
	}
}

func TestAveragesThatCannotBe(t *testing.T) {
	for _, text := range []string{"ema", "ema:", "ema:0", "ema:1", "ema:NaN", "tail:0", "tail:1.5", "tail:-1",
		"mean:0.5", "0.9", "ema:0.9,", "None"} {
		s := smallSpec()
		s.Average = text
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "average = \""+text+"\", must be none, "+
			"ema:D") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// The average in a checkpoint is checked against the run.
func TestForgedAveragesAreRefused(t *testing.T) {
	s := longSpec()
	s.Average = "ema:0.9"
	p, path := prepared(t, s, drawn()), filepath.Join(t.TempDir(), "run.checkpoint")
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := p.RunKept(ctx, sim.Perf{}, func(b sim.Broadcast) {
		if b.K == 100 {
			cancel()
		}
	}, Keep{Path: path}); err == nil {
		t.Fatal("the run was not stopped")
	}
	for want, forge := range map[string]func(*Checkpoint){
		"broadcasts in the averaged model = 1000000": func(c *Checkpoint) { c.Averaged = 1_000_000 },
		"broadcasts in the averaged model = -1":      func(c *Checkpoint) { c.Averaged = -1 },
	} {
		c := opened(t, path)
		if c.Averaged < 100 {
			t.Errorf("%d broadcasts kept, want at least 100", c.Averaged)
		}
		forge(c)
		if _, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{From: c}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
