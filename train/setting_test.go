package train

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"proactivedp/plan"
)

// A file whose σ, rounds or clients were changed behind its ε is not trained: neither a
// plan nor a proposal may cost more than its file says.
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
