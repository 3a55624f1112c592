package audit

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"proactivedp/dp"
)

// backwards makes parts by Do, the last first.
type backwards struct {
	courses []Course
	made    int
}

func (b *backwards) Compute(ctx context.Context, parts []json.RawMessage, done func(int, json.RawMessage) error) error {
	for i := len(parts) - 1; i >= 0; i-- {
		result, err := Do(ctx, parts[i], b.courses, 2)
		if err != nil {
			return err
		}
		b.made++
		if err := done(i, result); err != nil {
			return err
		}
	}
	return nil
}

// timeless takes out of a report what depends on how long things took.
func timeless(r *Report) *Report {
	r.Seconds = 0
	for i := range r.Probes {
		r.Probes[i].RunsPerSecond = 0
	}
	return r
}

// If other processes compute the parts of an audit, in any order, the result is that of one process. The
// same holds for audits that end at their first alarm.
func TestAnAuditElsewhereIsTheSame(t *testing.T) {
	o := options(NoFault, MinRuns)
	o.Courses = []Course{{
		Name: "coin", About: "a coin", Share: 1,
		Guarantee: dp.Bound{EpsilonUpper: 1, Delta: 1e-3, Kind: dp.Upper},
		Run:       func(_ context.Context, _ bool, seed uint64) (float64, error) { return float64(seed % 7), nil },
	}}
	here, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	e := &backwards{courses: o.Courses}
	away := o
	away.Elsewhere = e
	there, err := Run(t.Context(), away)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(timeless(here), timeless(there)) {
		t.Errorf("here %+v, elsewhere %+v", here, there)
	}
	if e.made < 15 {
		t.Errorf("%d parts were made elsewhere", e.made)
	}
	o = options(HalfNoise, MinRuns)
	want, err := Alarms(t.Context(), o, 2)
	if err != nil {
		t.Fatal(err)
	}
	o.Elsewhere = e
	if got, err := Alarms(t.Context(), o, 2); err != nil || !slices.Equal(got, want) || want[1].By == "" {
		t.Errorf("alarms %+v, elsewhere %+v: %v", want, got, err)
	}
}

// An unknown part of an audit is an error, and so is an incomplete result of a part.
func TestOtherPartsAreRefused(t *testing.T) {
	o := options(NoFault, MinRuns)
	good := o.request(onePart)
	for want, change := range map[string]func(*request){
		"no part":           func(r *request) { r.Part = "probe/none" },
		"must be":           func(r *request) { r.Program = "another" },
		"of kind":           func(r *request) { r.Kind = "trial" },
		"unknown here":      func(r *request) { r.Courses = []string{"loop"} },
		"runs = 1, must be": func(r *request) { r.Runs = 1 },
	} {
		p := good
		change(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Do(t.Context(), text, nil, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, result := range []string{"{}", `{"checks":[]}`, `{"found":1}`, ""} {
		o.Elsewhere = same(result)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "result of") {
			t.Errorf("%q: %v", result, err)
		}
	}
}

// same is what comes of every part.
type same string

func (s same) Compute(_ context.Context, parts []json.RawMessage, done func(int, json.RawMessage) error) error {
	for i := range parts {
		if err := done(i, json.RawMessage(s)); err != nil {
			return err
		}
	}
	return nil
}

// A course (a training that chooses its rounds by its earlier releases) whose results cannot show anything
// is an error. It does not count as an audit that found nothing.
func TestACourseThatShowsNothingIsRefused(t *testing.T) {
	o := options(NoFault, MinRuns)
	course := func(statistic float64) Course {
		return Course{Name: "coin", Guarantee: dp.Bound{EpsilonUpper: 1, Delta: 1e-3, Kind: dp.Upper},
			Run: func(context.Context, bool, uint64) (float64, error) { return statistic, nil }}
	}
	claiming := func(epsilon, delta float64) Course {
		c := course(1)
		c.Guarantee = dp.Bound{EpsilonUpper: epsilon, Delta: delta}
		return c
	}
	for _, c := range []struct {
		want   string
		course Course
		o      *Options
		runs   int
		level  float64
	}{
		{"the statistic is not a number", course(math.NaN()), &o, MinRuns, 0.01},
		{"runs = 99 of a course", course(1), &o, MinRuns - 1, 0.01},
		{"runs = 1099511627776 of a course", course(1), &o, 1 << 40, 0.01},
		{"level = NaN", course(1), &o, MinRuns, math.NaN()},
		{"level = 0", course(1), &o, MinRuns, 0},
		{"level = 1", course(1), &o, MinRuns, 1},
		{"has no Run", Course{}, &o, MinRuns, 0.01},
		{"options are missing", course(1), nil, MinRuns, 0.01},
		{"workers = 0", course(1), &Options{}, MinRuns, 0.01},
		{"epsilon = NaN at delta = 0.1", claiming(math.NaN(), 0.1), &o, MinRuns, 0.01}, // which nothing refutes
		{"epsilon = +Inf at delta = 0.1", claiming(math.Inf(1), 0.1), &o, MinRuns, 0.01},
		{"epsilon = -1 at delta = 0.1", claiming(-1, 0.1), &o, MinRuns, 0.01},
		{"epsilon = 1 at delta = NaN", claiming(1, math.NaN()), &o, MinRuns, 0.01},
		{"epsilon = 1 at delta = 1", claiming(1, 1), &o, MinRuns, 0.01},
	} {
		if _, err := c.course.Audit(t.Context(), c.o, c.runs, c.level); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// The likelihood ratio of a release that only one of the two worlds can make is infinite. Such results are
// allowed, can be written, and prove a violation.
func TestCoursesMayHaveInfiniteStatistics(t *testing.T) {
	o := options(NoFault, MinRuns)
	found, err := Course{Name: "open", Guarantee: dp.Bound{EpsilonUpper: 1, Delta: 1e-3, Kind: dp.Upper},
		Run: func(_ context.Context, canary bool, _ uint64) (float64, error) {
			if canary {
				return math.Inf(1), nil
			}
			return math.Inf(-1), nil
		}}.Audit(t.Context(), &o, 1000, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(found); err != nil || !found.Violated {
		t.Errorf("ε of at least %v, %v", found.EpsilonLowerBound, err)
	}
}

// A claim of ε = 0 is allowed. It may fail with probability δ.
func TestACourseMayPromiseEpsilonZero(t *testing.T) {
	o := options(NoFault, MinRuns)
	found, err := Course{Name: "coin", Guarantee: dp.Bound{Delta: 1e-3, Kind: dp.Upper},
		Run: func(_ context.Context, _ bool, seed uint64) (float64, error) { return float64(seed % 7), nil },
	}.Audit(t.Context(), &o, MinRuns, 0.01)
	if err != nil || found.Violated {
		t.Errorf("%+v, %v", found, err)
	}
}
