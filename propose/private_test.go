package propose

import (
	"strings"
	"testing"

	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/dp/rdp"
	"proactivedp/rng"
	"proactivedp/train"
)

// Private probing and the training that it proposes together cost at most the target epsilon. The test
// computes this from the mechanism of a trial and that of the setting. The report does not reveal how many
// trials there were.
func TestPrivateProbesArePaidFor(t *testing.T) {
	r, o := request(), options(2)
	source := train.NewSource(synth.OneHot(rng.New(3), 3000))
	o.Data, o.Probe, o.Probing = source, source, Private
	for _, epsilon := range []float64{0.5, 4} {
		r.Epsilon = epsilon
		report := propose(t, r, o)
		if len(report.Proposals) != 1 || len(report.Frontier) != 0 ||
			report.Probe.Trainings+report.Probe.Computed != 0 {
			t.Fatalf("%+v", report)
		}
		if !strings.Contains(report.Probe.Statement, "number of records is assumed to be public") {
			t.Errorf("the statement is %q", report.Probe.Statement)
		}
		private, setting := report.Probe.Private, report.Proposals[0].Setting
		trial := setting
		trial.NoiseMultiplier, trial.Holdout = private.TrialSigma, train.UsualHoldout
		events := func(spec train.Spec) []dp.Event {
			p, err := source.Prepare(spec)
			if err != nil {
				t.Fatal(err)
			}
			m := p.Config.Mechanism
			return []dp.Event{{Sampling: m.Sampling, Adjacency: m.Adjacency, NoiseMultiplier: m.NoiseMultiplier,
				SampleSize: m.Sizes.At(0), DatasetSize: m.DatasetSize,
				Count: p.Config.Run().Rounds * p.Config.Clients()}}
		}
		count := dp.Event{Sampling: dp.Poisson, Adjacency: dp.AddOrRemove, NoiseMultiplier: private.CountSigma, Rate: 1,
			Count: 1}
		b, err := rdp.Selection{Shape: private.Selection.Shape, Gamma: private.Selection.Gamma}.Epsilon(t.Context(),
			append(events(trial), count), events(setting), report.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if b != private.Together || b.EpsilonUpper > epsilon || b.EpsilonUpper < 0.99*epsilon {
			t.Errorf("together ε = %v, stated %v, must be just within %v", b.EpsilonUpper,
				private.Together.EpsilonUpper, epsilon)
		}
		if alone := private.Alone.EpsilonUpper; alone > epsilon*selectionShare || alone >= b.EpsilonUpper {
			t.Errorf("ε = %v of the selection alone, must be at most %v", alone, epsilon*selectionShare)
		}
		if again := timeless(t, propose(t, r, o)); again != timeless(t, report) {
			t.Error("the same seed gives another answer")
		}
	}
}

// Private trials split the data as the training does. If a hash of each record decides, a search with another split had
// another number of held-out records, and was refused for about every second seed.
func TestPrivateTrialsAreSplitLikeTheTraining(t *testing.T) {
	r, o := request(), options(1)
	r.Epsilon, r.Base.Split, o.Probing = 4, train.RecordSplit, Private
	for r.Base.Seed = range uint64(6) {
		report := propose(t, r, o)
		spec := report.Proposals[0].Setting
		spec.Holdout = train.UsualHoldout
		p, err := o.Data.Prepare(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := report.Records-report.Probe.HeldOut, p.Config.Mechanism.DatasetSize; got != want {
			t.Errorf("seed %d: a trial is accounted for %d records, and has %d", r.Base.Seed, got, want)
		}
	}
}

// Stored trials, and choices that depend on the accuracy of trials, are refused, because ε would not cover
// them.
func TestPrivateProbesRefuse(t *testing.T) {
	r, o := request(), options(1)
	o.Probing, o.Trials.Folder = Private, t.TempDir()
	r.TargetAccuracy, r.Base.Partition = 0.9, "shard"
	_, err := Propose(t.Context(), r, o)
	for _, want := range []string{"no target accuracy", "kept in a folder", `partition = "shard"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
