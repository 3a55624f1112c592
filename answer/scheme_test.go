package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// If sampling or adjacency is unknown or missing, every function that a Go program may call returns an
// error. None of them returns a number, curve, code or statement.
func TestUnknownSchemesAreRefused(t *testing.T) {
	good := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Rate: 0.01, Count: 100}
	bound, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{good}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	for _, unknown := range []struct {
		set  func(*dp.Sampling, *dp.Adjacency)
		want string
	}{
		{func(s *dp.Sampling, _ *dp.Adjacency) { *s = "bins" }, `sampling = "bins", must be`},
		{func(s *dp.Sampling, _ *dp.Adjacency) { *s = dp.Unsampled }, `sampling = "none", must be`},
		{func(_ *dp.Sampling, a *dp.Adjacency) { *a = "near" }, `adjacency = "near", must be`},
		{func(s *dp.Sampling, _ *dp.Adjacency) { *s = "" }, `sampling = "", must be`},
		{func(_ *dp.Sampling, a *dp.Adjacency) { *a = "" }, `adjacency = "", must be`},
	} {
		e, b := good, bound
		unknown.set(&e.Sampling, &e.Adjacency)
		unknown.set(&b.Sampling, &b.Adjacency)
		target := plan.Target{Epsilon: 1, Delta: 1e-5, SampleRate: 0.01, Steps: 100, Sampling: e.Sampling,
			Adjacency: e.Adjacency}
		got := map[string]error{}
		_, got["account"] = Account(t.Context(), AccountQuestion{Events: []dp.Event{e}, Delta: 1e-5})
		_, got["tradeoff"] = TradeoffQuestion{Events: []dp.Event{e}, Delta: 1e-5}.answer(t.Context())
		_, got["calibrate"] = Calibrate(t.Context(), CalibrateQuestion{Target: target})
		_, _, got["least noise"] = plan.LeastNoise(t.Context(), []dp.Event{e}, 1, 1e-5, pld.Accountant{})
		_, got["replan"] = plan.Replan(t.Context(), plan.NextRequest{Past: []dp.Event{e}, Epochs: 1, Epsilon: 1,
			Delta: 1e-5, N: 1000}, pld.Accountant{})
		_, got["code"] = libraries.OfEvents([]dp.Event{e}, b)
		for _, f := range append(libraries.Formats(), libraries.Records()...) {
			_, got[string(f)] = libraries.Write(f, libraries.Release{Event: e, Bound: b})
		}
		for what, err := range got {
			if err == nil || !strings.Contains(err.Error(), unknown.want) {
				t.Errorf("%s: %v, want %s", what, err, unknown.want)
			}
		}
	}
}

// Code is only written for the rounds that its ε was computed for, and only if the kind of the bound is
// known.
func TestCodeNeedsTheBoundOfItsRounds(t *testing.T) {
	e := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Rate: 0.01, Count: 100}
	b, err := pld.Accountant{}.Epsilon(t.Context(), []dp.Event{e}, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	other := b
	other.Adjacency = dp.ReplaceOne
	if _, err := libraries.OfEvents([]dp.Event{e}, other); err == nil || !strings.Contains(err.Error(), "replace-one") {
		t.Errorf("a bound under another adjacency: %v", err)
	}
	other = b
	other.Kind = "guess"
	if _, err := libraries.OfEvents([]dp.Event{e}, other); err == nil || !strings.Contains(err.Error(), `"guess"`) {
		t.Errorf("a bound of an unknown kind: %v", err)
	}
	shuffled := dp.Event{Sampling: dp.Shuffle, Adjacency: dp.ZeroOut, NoiseMultiplier: 2, Rate: 0.01, Count: 100}
	if b, err = (pld.Accountant{}).Epsilon(t.Context(), []dp.Event{shuffled}, 1e-5); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(libraries.Formats(), libraries.Records()...) {
		c, err := libraries.Write(f, libraries.Release{Event: shuffled, Bound: b})
		if f == libraries.LaTeX {
			if err != nil || !strings.Contains(c.Text, "does not hold for a data loader that shuffles") {
				t.Errorf("%s: %v, %s", f, err, c.Text)
			}
		} else if !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// JSON may omit sampling and adjacency, and so may files of rounds. The answer names the ones that were
// assumed.
func TestJSONNamesTheSchemeItAssumed(t *testing.T) {
	for _, question := range []string{
		`{"account": {"events": [{"noise_multiplier": 2, "sample_rate": 0.01, "count": 100}], "delta": 1e-5}}`,
		`{"calibrate": {"epsilon": 1, "delta": 1e-5, "sample_rate": 0.01, "steps": 100}}`,
		`{"tradeoff": {"events": [{"noise_multiplier": 2, "sample_rate": 0.01, "count": 100}], "delta": 1e-5}}`,
	} {
		var answer map[string]json.RawMessage
		if err := json.Unmarshal(JSON(t.Context(), []byte(question)), &answer); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s", answer)
		if answer["error"] != nil || !strings.Contains(text, `"sampling":"poisson"`) ||
			!strings.Contains(text, `"adjacency":"add-or-remove"`) {
			t.Errorf("%s: %.300s", question, text)
		}
	}
}

// Releases that are not rounds of training need no sampling in JSON, either. A randomized response has
// only one adjacency.
func TestJSONOfOtherReleases(t *testing.T) {
	for question, want := range map[string]string{
		`{"mechanism": "laplace", "noise_multiplier": 2, "count": 1}`:                             `"epsilon_upper":0.4999799999`,
		`{"mechanism": "randomized-response", "epsilon": 0.5, "count": 1}`:                        `"adjacency":"replace-one","sampling":"none"`,
		`{"mechanism": "laplace", "noise_multiplier": 2, "sampling": "poisson", "count": 1}`:      `sampling = \"poisson\", must be \"none\"`,
		`{"mechanism": "laplace", "noise_multiplier": 2, "count": 0}`:                             `count of releases = 0`,
		`{"mechanism": "laplace", "noise_multiplier": 2, "count": 1, "count": 2}`:                 `occurs twice`,
		`{"mechanism": "geometric", "epsilon": 2, "count": 1}`:                                    `mechanism = \"geometric\", must be`,
		`{"mechanism": "randomized-response", "epsilon": 1, "adjacency": "zero-out", "count": 1}`: `must be \"replace-one\"`,
	} {
		got := string(JSON(t.Context(), []byte(`{"account": {"events": [`+question+`], "delta": 1e-5, "accountant": "pld"}}`)))
		if !strings.Contains(got, want) {
			t.Errorf("%s: %.300s, must have %s", question, got, want)
		}
	}
}
