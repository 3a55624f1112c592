package libraries

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
	"proactivedp/dp/pld"
)

func poisson(sigma, rate float64, count int) dp.Event {
	return dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: sigma, Rate: rate, Count: count}
}

// What Opacus and dp_accounting write of rounds is read as these rounds: state_dict() of
// Opacus 1.5.4's accountants, and repr() of dp_accounting 0.6.0's events, or the code that
// makes them.
func TestRecordsAreRead(t *testing.T) {
	fixed := dp.Event{Sampling: dp.FixedSize, Adjacency: dp.ReplaceOne, NoiseMultiplier: 1.5, SampleSize: 10,
		DatasetSize: 1000, Count: 6}
	for text, want := range map[string][]dp.Event{
		`{"history": [[1.1, 0.004, 10000]], "mechanism": "rdp"}`:           {poisson(1.1, 67109./(1<<24), 10000)},
		`{"history": [[2, 0.5, 1], [1e0, 0.25, 3.0]], "mechanism": "prv"}`: {poisson(2, 0.5, 1), poisson(1, 0.25, 3)},
		// json.dumps(event.to_named_tuple()), and of an object that keeps the names of the fields.
		`["dp_accounting.dp_event", "SelfComposedDpEvent", ["dp_accounting.dp_event", "PoissonSampledDpEvent", 0.01, ` +
			`["dp_accounting.dp_event", "GaussianDpEvent", 1.1]], 1000]`: {poisson(1.1, 0.01, 1000)},
		`{"module_name": "dp_accounting.dp_event", "class_name": "GaussianDpEvent", "noise_multiplier": 3}`: {poisson(3, 1, 1)},
		`{"class_name": "SelfComposedDpEvent", "count": 7, "event": ["m", "PoissonSampledDpEvent", 0.5, {"class_name": ` +
			`"GaussianDpEvent", "noise_multiplier": 2.0}]}`: {poisson(2, 0.5, 7)},
		`["m", "ComposedDpEvent", [["m", "NoOpDpEvent"], ["m", "GaussianDpEvent", 2], ["m", "GaussianDpEvent", 4]]]`: {
			poisson(2, 1, 1), poisson(4, 1, 1)},
		"SelfComposedDpEvent(GaussianDpEvent(2), np.int32(5))": {poisson(2, 1, 5)},
		" [ [1.1,0.01,20]]\n":                           {poisson(1.1, 167773./(1<<24), 20)},
		"GaussianDpEvent(noise_multiplier=3.0)":         {poisson(3, 1, 1)},
		"ComposedDpEvent(events=(GaussianDpEvent(3),))": {poisson(3, 1, 1)},
		"SelfComposedDpEvent(event=RandomAllocationDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), num_selected=1, " +
			"num_steps=98), count=10)": {{Sampling: dp.Allocation, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Rate: 1. / 98,
			Redraw: dp.EachEpoch, Count: 980}},
		"SelfComposedDpEvent(event=TruncatedSubsampledGaussianDpEvent(dataset_size=60000, sampling_probability=0.01, " +
			"truncated_batch_size=700, noise_multiplier=1.1), count=9)": {{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1,
			Rate: 0.01, DatasetSize: 60000, Truncated: 700, Count: 9}},
		"SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, " +
			"event=GaussianDpEvent(noise_multiplier=1.1)), count=1_000)": {poisson(1.1, 0.01, 1000)},
		"dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(\n  1e-2, GaussianDpEvent(.5),\n), 7)": {
			poisson(0.5, 0.01, 7)},
		"SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=np.float64(0.01), " +
			"event=GaussianDpEvent(noise_multiplier=numpy.float64(1.1))), count=np.int64(7))": {poisson(1.1, 0.01, 7)},
		"ComposedDpEvent(events=[NoOpDpEvent(), SelfComposedDpEvent(count=2, " +
			"event=ComposedDpEvent([GaussianDpEvent(2), " +
			"SelfComposedDpEvent(PoissonSampledDpEvent(0.5, GaussianDpEvent(4)), 3)]))])": {
			poisson(2, 1, 2), poisson(4, 0.5, 6)},
		"SelfComposedDpEvent(SampledWithoutReplacementDpEvent(source_dataset_size=1000, sample_size=10, " +
			"event=GaussianDpEvent(noise_multiplier=1.5)), 6)": {fixed},
	} {
		h, err := Read([]byte(text), dp.Poisson, "")
		if err != nil || !reflect.DeepEqual(h.Events, want) {
			t.Errorf("%s:\nread %+v, %v\nwant %+v", text, h.Events, err, want)
		}
		if len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "read from") {
			t.Errorf("%s: notes %q, want where it is from", text, h.Notes)
		}
	}
	h, err := Read([]byte(`[[1, 0.5, 2]]`), dp.FixedSize, dp.ReplaceOne)
	if err != nil || h.Events[0].Sampling != dp.FixedSize || h.Events[0].Adjacency != dp.ReplaceOne ||
		!strings.Contains(h.Notes[0], "assumed are fixed sampling") ||
		!strings.Contains(h.Notes[0], "one batch in each step") {
		t.Errorf("read %+v, %v, want what was asked for", h, err)
	}
}

// A record is drawn as often as torch's numbers are below the rate, which are multiples of
// 2^-24: more often than the state says, where the rate is none.
func TestRatesOfOpacusAreTheDrawnOnes(t *testing.T) {
	for text, want := range map[string]float64{"1e-6": 17, "1e-12": 1, "0.02": 335545, "0.5": 1 << 23, "1": 1 << 24} {
		h, err := Read([]byte("[[1, "+text+", 1]]"), dp.Poisson, "")
		if err != nil || h.Events[0].Rate != want/(1<<24) {
			t.Errorf("%s: read %+v, %v, want a rate of %v/2^24", text, h.Events, err, want)
		}
	}
	if _, err := Read([]byte("[[1, 1.5, 1]]"), dp.Poisson, ""); err == nil || !strings.Contains(err.Error(), "1.5") {
		t.Errorf("a rate above one: %v, want what was given", err)
	}
}

// What is not covered is refused by its name; what is damaged, with where and why.
func TestRecordsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"ZCDpEvent(0.1, 0.5)":             "xi = 0.5, must be 0",
		"ZCDpEvent(xi=0)":                 "has no rho",
		"ZCDpEvent(100)":                  "rho = 100, must be in",
		"DiscreteLaplaceDpEvent(1, 0.5)":  "sensitivity",
		"DiscreteLaplaceDpEvent(0, 1)":    "epsilon =",
		"RandomizedResponseDpEvent(1, 2)": "noise_parameter = 1, must be in (0, 1)",
		"ComposedDpEvent([SampledWithoutReplacementDpEvent(10, 1, GaussianDpEvent(1)), LaplaceDpEvent(1)])": "adjacency is missing",
		"ComposedDpEvent([SampledWithoutReplacementDpEvent(10, 1, GaussianDpEvent(1)), EpsilonDeltaDpEvent(1, 0)])": "adjacency is " +
			"missing",
		"LaplaceDpEvent(0)":         "noise multiplier = 0, must be in",
		"EpsilonDeltaDpEvent(0, 0)": "epsilon = 0, must be in",
		"EpsilonDeltaDpEvent(1, 1)": "delta = 1, must be in",
		"EpsilonDeltaDpEvent(1)":    "has no delta",
		"RandomAllocationDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), num_selected=10, num_steps=100)": "num_selected " +
			"= 10 is not covered",
		"SelfComposedDpEvent(RandomAllocationDpEvent(event=GaussianDpEvent(2), num_selected=1, num_steps=9007199), 1e10)": "num_steps = 9007199 " +
			"of 10000000000, must be at most 2^53 in all",
		"SampledWithoutReplacementDpEvent(10, 2.5, GaussianDpEvent(1))":                 "sample_size = 2.5, must be",
		"RandomAllocationDpEvent(event=LaplaceDpEvent(1), num_selected=1, num_steps=9)": "of LaplaceDpEvent is not covered",
		"TruncatedSubsampledGaussianDpEvent(100, 0.1, 101, 1)":                          "truncated batch size = 101, must be in [1, N = 100]",
		"TruncatedSubsampledGaussianDpEvent(100, 0, 20, 1)":                             "sampling_probability = 0, must be in (0, 1]",
		"TruncatedSubsampledGaussianDpEvent(100, 0.1, 0, 1)":                            "truncated_batch_size = 0",
		"NonPrivateDpEvent()": "NonPrivateDpEvent is not covered",
		"PoissonSampledDpEvent(0.1, LaplaceDpEvent(1))": "PoissonSampledDpEvent of " +
			"LaplaceDpEvent is not covered",
		"PoissonSampledDpEvent(0.1, ComposedDpEvent([GaussianDpEvent(1)]))": "of ComposedDpEvent is not covered",
		"SampledWithReplacementDpEvent(10, 1, GaussianDpEvent(1))": "SampledWithReplacementDpEvent is " +
			"not covered",
		"DPExecutionPlan(clipped_grad=f)":                           "plans of JAX Privacy are experimental",
		"jax_privacy.BandMFConfig(iterations=3)":                    "plans of JAX Privacy are experimental",
		`{"history": [[1, 0.1, 1]], "mechanism": "other"}`:          `mechanism = "other"`,
		`{"history": [[1, 0.1, 1]], "mechanism": "rdp", "seed": 1}`: "seed",
		`{"history": []}`: "nothing was released",
		`{"history": [[1, 0.1], [1, 2, 3], [1, 0, 1], [1, 0.1, 0.5], [1, "a", 1]]}`: "history[4]",
		`[[-1, 0.1, 5]]`:                                                           "noise multiplier = -1",
		"GaussianDpEvent(sigma=1)":                                                 `no argument "sigma"`,
		"GaussianDpEvent(1, noise_multiplier=2)":                                   "twice",
		"GaussianDpEvent()":                                                        "has no noise_multiplier",
		"RandomAllocationDpEvent(GaussianDpEvent(2.0), 1, 100)":                    "without a name",
		"GaussianDpEvent(NoOpDpEvent())":                                           "must be a number",
		"GaussianDpEvent(np.float32(1.1))":                                         "must be a number",
		"GaussianDpEvent(np.float64(np.float64(1.1)))":                             "must be a number",
		"GaussianDpEvent(np.float64(1, 2))":                                        "must be a number",
		"GaussianDpEvent(1e999)":                                                   "1e999",
		"GaussianDpEvent(1":                                                        "must be a comma",
		"GaussianDpEvent(1) GaussianDpEvent(1)":                                    "more after",
		"SelfComposedDpEvent(GaussianDpEvent(1), 1.5)":                             "count = 1.5",
		"SelfComposedDpEvent(GaussianDpEvent(1), -2)":                              "count = -2",
		"SelfComposedDpEvent(SelfComposedDpEvent(GaussianDpEvent(1), 9e15), 9e15)": "2^53",
		"ComposedDpEvent(GaussianDpEvent(1))":                                      "must be a list",
		"ComposedDpEvent([])":                                                      "nothing was released",
		"PoissonSampledDpEvent(0, GaussianDpEvent(1))":                             "must be in (0, 1]",
		"PoissonSampledDpEvent(1.5, GaussianDpEvent(1))":                           "must be in (0, 1]",
		"SampledWithoutReplacementDpEvent(5, 9, GaussianDpEvent(1))":               "must be in [1, N = 5]",
		"GaussianDpEvent(__import__('os').system('true'))": "must be an event, a number or " +
			"a list",
		"GaussianDpEvent(os=1)": "no argument",
		strings.Repeat("SelfComposedDpEvent(", 200) + "GaussianDpEvent(1)": "nested more than",
		"sigma,steps\n1,2": "neither",
	} {
		h, err := Read([]byte(text), dp.Poisson, "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: read %+v, %v, want an error with %q", text, h.Events, err, want)
		}
		if err != nil && strings.Contains(want, "not covered") && !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%.80s: %v does not wrap ErrNotCovered", text, err)
		}
	}
	bomb := "ComposedDpEvent([" + strings.Repeat("GaussianDpEvent(1),", mostKinds+1) + "])"
	if _, err := Read([]byte(bomb), dp.Poisson, ""); err == nil || !strings.Contains(err.Error(), "kinds of rounds") {
		t.Errorf("more kinds of rounds than may be: %v", err)
	}
}

// Rounds that are read are valid, whatever the text.
func fuzzed(t *testing.T, text string) {
	h, err := Read([]byte(text), dp.Poisson, "")
	if err != nil {
		return
	}
	if len(h.Events) == 0 {
		t.Errorf("%q: no rounds and no error", text)
	}
	for _, e := range h.Events {
		if e.Validate() != nil || math.IsNaN(e.SampleRate()) || e.SampleRate() <= 0 {
			t.Errorf("%q is read as %+v", text, e)
		}
	}
}

func FuzzDpEvent(f *testing.F) {
	for _, text := range []string{
		"SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, " +
			"event=GaussianDpEvent(noise_multiplier=1.1)), count=1000)",
		"ComposedDpEvent(events=[GaussianDpEvent(1.0), NoOpDpEvent(),])",
		"SampledWithoutReplacementDpEvent(10, 2, GaussianDpEvent(1_0.5e-1))", "DpEvent(", "XDpEvent([[[a.b=1",
	} {
		f.Add(text)
	}
	f.Fuzz(fuzzed)
}

func FuzzOpacusState(f *testing.F) {
	for _, text := range []string{`{"history": [[1.1, 0.004, 100]], "mechanism": "rdp"}`, `[[1, 1, 1e3], [0, 0.5, 2]]`,
		`[[`} {
		f.Add(text)
	}
	f.Fuzz(fuzzed)
}

// 18 texts that Python prints of states, and 16 that are no values or whose digits are not the number.
func TestFromPython(t *testing.T) {
	for text, want := range map[string]string{
		"{'history': [(1.1, 0.004, 10000)], 'mechanism': 'rdp'}":                `{"history":[[1.1,0.004,10000]],"mechanism":"rdp"}`,
		"{'history': [(np.float64(1.1), 0.004, np.int32(10000))]}":              `{"history":[[1.1,0.004,10000]]}`,
		"OrderedDict({'history': [(1.1, 0.004, 10)], 'mechanism': 'prv'})":      `{"history":[[1.1,0.004,10]],"mechanism":"prv"}`,
		"OrderedDict([('history', [(1.1, 0.004, 10)]), ('mechanism', 'prv'),])": `{"history":[[1.1,0.004,10]],"mechanism":"prv"}`,
		"OrderedDict([('a', 1, 2)])":                                            "",
		"OrderedDict([('a': 1)])":                                               "",
		"OrderedDict([('a')])":                                                  "",
		"OrderedDict([['a', 1]])":                                               "",
		"OrderedDict([('a', 'b': 1)])":                                          "",
		"[(1.1, 0.004, 10), (2., .5, 1_000)]":                                   `[[1.1,0.004,10],[2,0.5,1000]]`,
		"[(1.1, 0.004, 10),]":                                                   `[[1.1,0.004,10]]`,
		"(1,)":                                                                  `[1]`,
		"{'a': True, 'b': False, 'c': None}":                                    `{"a":true,"b":false,"c":null}`,
		"{\"it's\": 1}":                                                         `{"it's":1}`,
		"{'say': 'a \"word\"'}":                                                 `{"say":"a \"word\""}`,
		"{'noise_multiplier': 1.1, 'sample_rate': 0.01, 'count': np.int64(1)}":  `{"noise_multiplier":1.1,"sample_rate":0.01,"count":1}`,
		"{}":                `{}`,
		"[]":                `[]`,
		"{'a': -1e-05}":     `{"a":-1e-05}`,
		"{'a': +1}":         `{"a":1}`,
		"[numpy.uint16(3)]": `[3]`,
		"\n{ 'a' :\t1 }\n":  `{"a":1}`,
		"{'ε': 'µ'}":        `{"ε":"µ"}`,
		"{'history': [(tensor(1.1000), 0.004, 10)]}": "", // torch prints four digits
		"{'a': np.float32(1.1)}":                     "",
		"{'a': nan}":                                 "",
		"{'a': inf}":                                 "",
		"{'a': 1":                                    "",
		"{'a': 1]":                                   "",
		"[1))":                                       "",
		"{'a\\n': 1}":                                "",
		"[__import__('os').system('true')]":          "",
		"[1 2]":                                      "",
		strings.Repeat("(", 200):                     "",
	} {
		got, err := FromPython([]byte(text))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%.80s: %s, %v, want %s", text, got, err, want)
		}
	}
}

// An event that nothing covers is named with what would cover it.
func TestUncoveredEventsSayWhatCovers(t *testing.T) {
	for text, want := range map[string]string{
		"PoissonSampledDpEvent(0.1, LaplaceDpEvent(10))":             "only that of GaussianDpEvent is",
		"PoissonSampledDpEvent(0.1, EpsilonDeltaDpEvent(1, 0))":      "without sampling it is covered",
		"ComposedDpEvent([GaussianDpEvent(2), NonPrivateDpEvent()])": "ε is infinite",
		"SampledWithReplacementDpEvent(10, 1, GaussianDpEvent(1))":   "samples without replacement and Poisson samples are covered",
	} {
		_, err := Read([]byte(text), dp.Poisson, "")
		if !errors.Is(err, dp.ErrNotCovered) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, must say %q", text, err, want)
		}
	}
}

// Laplace noise and (ε, δ) are read as releases that compose with rounds, under the adjacency of add-or-remove or the
// given one. LaplaceDpEvent of dp_accounting has the scale over the 1-norm of what a record adds (dp_event.py), so it
// is (1/noise_multiplier)-private if the record is added or removed.
func TestOtherReleases(t *testing.T) {
	const rounds = "SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1)), 100)"
	h, err := Read([]byte("ComposedDpEvent(["+rounds+", SelfComposedDpEvent(LaplaceDpEvent(noise_multiplier=2), 3), "+
		"EpsilonDeltaDpEvent(0.5, 1e-6), EpsilonDeltaDpEvent(epsilon=0.25, delta=0)])"), dp.Poisson, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []dp.Event{
		{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: 1.1, Rate: 0.01, Count: 100},
		{Other: dp.LaplaceNoise, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, NoiseMultiplier: 2, Count: 3},
		{Other: dp.ApproximateDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Epsilon: 0.5, Delta: 1e-6, Count: 1},
		{Other: dp.PureDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Epsilon: 0.25, Count: 1},
	}
	if !slices.Equal(h.Events, want) {
		t.Errorf("%+v, want %+v", h.Events, want)
	}
	b, err := pld.Accountant{}.Epsilon(t.Context(), h.Events, 1e-5)
	alone, aloneErr := pld.Accountant{}.Epsilon(t.Context(), want[:1], 1e-6)
	if err != nil || aloneErr != nil || !(b.EpsilonUpper <= alone.EpsilonUpper+3*0.5+0.5+0.25 && b.EpsilonUpper > alone.EpsilonLower) {
		t.Errorf("ε ≤ %v, and %v for the rounds alone: %v, %v", b.EpsilonUpper, alone.EpsilonUpper, err, aloneErr)
	}
	// ρ-zCDP, discrete Laplace noise (DLap(a) falls by e^-a from one number to the next), and randomized response: with p = 1/2
	// and two answers, the true one has the probability 3/4.
	h, err = Read([]byte("ComposedDpEvent([ZCDpEvent(rho=0.125, xi=0.0), DiscreteLaplaceDpEvent(0.25, sensitivity=2)])"), dp.Poisson, "")
	want = []dp.Event{
		{Other: dp.ConcentratedDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Rho: 0.125, Count: 1},
		{Other: dp.PureDP, Sampling: dp.Unsampled, Adjacency: dp.AddOrRemove, Epsilon: math.Nextafter(0.5, 1), Count: 1},
	}
	if err != nil || !slices.Equal(h.Events, want) {
		t.Errorf("%+v, want %+v: %v", h.Events, want, err)
	}
	for text, other := range map[string]dp.Other{
		"RandomizedResponseDpEvent(0.5, 2)": dp.RandomizedResponse, "RandomizedResponseDpEvent(0.6, 3)": dp.PureDP,
	} {
		h, err := Read([]byte(text), dp.Poisson, "")
		if err != nil || h.Events[0].Other != other || h.Events[0].Adjacency != dp.ReplaceOne || !(math.Abs(h.Events[0].Epsilon-math.Log(3)) <= 1e-14) {
			t.Errorf("%s: %+v, %v", text, h.Events, err)
		}
		if _, err := Read([]byte(text), dp.Poisson, dp.AddOrRemove); !errors.Is(err, dp.ErrNotCovered) {
			t.Errorf("%s under add-or-remove: %v", text, err)
		}
	}
	if _, err := Read([]byte("LaplaceDpEvent(2)"), dp.Poisson, dp.ReplaceOne); !errors.Is(err, dp.ErrNotCovered) {
		t.Errorf("a replaced record: %v", err)
	}
	if h, err := Read([]byte("EpsilonDeltaDpEvent(1, 0)"), dp.Poisson, dp.ReplaceOne); err != nil || h.Events[0].Adjacency != dp.ReplaceOne {
		t.Errorf("(ε, δ) under a given adjacency: %+v, %v", h.Events, err)
	}
}
