package experiments

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp/claim"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// A caption says who holds each record, because the cost of a record depends on it: with shards, a record
// pays only for the rounds of one client.
func TestCaptionsSayWhoHoldsARecord(t *testing.T) {
	s := convexExperiment(pool.Convex(train.Ridge, "phishing"))
	d, err := synth.Make("synth-phishing", rng.New(1))
	if err != nil {
		t.Fatal(err)
	}
	f := &figureConfig{source: train.NewSource(d), seeds: 1, scale: 1}
	for _, c := range []struct {
		partition string
		clients   int
		want      string
	}{
		{"replicate", 5, "per record, which all 5 clients hold. "},
		{"replicate", 1, "per record, which the client holds. "},
		{"shard", 5, "per record, which one client alone holds. "},
		{"dirichlet:0.5", 3, "per record, which one client alone holds. "},
	} {
		spec := s.Train
		spec.Partition, spec.Clients = c.partition, c.clients
		if got := s.curveCaption(f, []member{{spec: spec}}, []claim.Report{{}}); !strings.Contains(got, c.want) {
			t.Errorf("%s of %d: %s, want %s", c.partition, c.clients, got, c.want)
		}
	}
	for own, want := range map[string]bool{"": true, "my.csv": false} { // the paper states nothing about the user's data
		s.own = own
		if got := s.curveCaption(f, []member{{spec: s.Train}}, []claim.Report{{}}); strings.Contains(got, "the paper states") != want {
			t.Errorf("own data %q: %s", own, got)
		}
	}
}

// A caption names the δ for which its ε hold.
func TestCaptionsSayTheirDelta(t *testing.T) {
	s := convexExperiment(pool.Convex(train.Ridge, "phishing"))
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 1, scale: 1}
	for delta, want := range map[float64]string{0: ", δ = 1/N, ", 1e-3: ", δ = 0.001, ",
		1.23456e-7: ", δ = 1.235e-07, "} {
		spec := s.Train
		spec.Delta = delta
		if got := s.curveCaption(f, []member{{spec: spec}}, []claim.Report{{}}); !strings.Contains(got, want) {
			t.Errorf("δ = %v: %s", delta, got)
		}
	}
}

// A caption says in words which delay the runs had, also if it is not a number of rounds.
func TestCaptionsSayTheirDelay(t *testing.T) {
	s := convexExperiment(pool.Convex(train.Ridge, "phishing"))
	f := &figureConfig{source: train.NewSource(drawn()), seeds: 1, scale: 1}
	for delay, want := range map[string]string{
		"1": ", at most 1 round behind, ", "0": ", at most 0 rounds behind, ", "16": ", at most 16 rounds behind, ",
		"unlimited": ", permissible delay unlimited, ", "sqrt": ", permissible delay √(t/ln t), ",
		"clients:0,4": ", permissible delay clients:0,4, ",
	} {
		spec := s.Train
		spec.Delay = delay
		if got := s.curveCaption(f, []member{{spec: spec}}, []claim.Report{{}}); !strings.Contains(got, want) {
			t.Errorf("delay %s: %s, want %s", delay, got, want)
		}
	}
}

// For data that the paper does not use, the caption does not mention the paper's K.
func TestCaptionsSpeakOfThePaperWhereItHasTheData(t *testing.T) {
	for name, of := range map[string]string{"synth-phishing": "the paper's K", "mnist": "the paper's K",
		"my.libsvm": "the settings' K", "synth-drawn": "the settings' K"} {
		f := &figureConfig{source: train.NewSource(drawn()), set: name, seeds: 1, scale: 0.5}
		if got := f.banner(); !strings.Contains(got, "SCALE 0.5: that part of "+of) {
			t.Errorf("%s: %s", name, got)
		}
		spec := smallSpec()
		spec.Data, spec.NoiseMultiplier = name, 0
		run := timedRun(t, smallSpec(), 2)
		text, err := newComparison([]series{{"one", spec}}, [][]pool.Timed{{*run}}).caption(t.Context(), f)
		if err != nil || strings.Contains(text, "of the paper's)") != (of == "the paper's K") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// The σ in the name of a line is never below the σ of its runs, and the data have the same name as the picture. The
// committed data of two figures of networks are older: their names have a σ that is rounded down.
func TestNamesRoundTheNoiseUp(t *testing.T) {
	named := regexp.MustCompile(`\(σ ([0-9.]+), s [0-9]+\)$`)
	f := &figureConfig{source: train.NewSource(drawn())}
	count := 0
	for _, s := range experimentList() {
		for _, m := range s.budgetMembers(f) {
			if m.reference {
				continue
			}
			count++
			curve := &pool.Curve{Target: []int{1}, At: []int{1}, Accuracy: []float64{0.5}}
			epsilon := 1.0
			var planned claim.Report
			planned.Certified.PerRecord.EpsilonUpper = &epsilon
			text := named.FindStringSubmatch(m.name)
			if text == nil {
				t.Fatalf("%s: no σ", m.name)
			}
			sigma, err := strconv.ParseFloat(text[1], 64)
			if err != nil || sigma < m.spec.NoiseMultiplier || sigma > 1.001*m.spec.NoiseMultiplier {
				t.Errorf("%s: σ = %v", m.name, m.spec.NoiseMultiplier)
			}
			if row := curveRows(f, m, 0, curve, planned)[0]; row[2] != m.name {
				t.Errorf("the data have the name %s, not %s", row[2], m.name)
			}
			if l := memberLine(m, []*pool.Curve{curve}, planned); !strings.HasSuffix(l.Name, text[0]) {
				t.Errorf("the picture has the name %s, the data %s", l.Name, m.name)
			}
		}
	}
	if count == 0 {
		t.Error("nothing was tested")
	}
}
