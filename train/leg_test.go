package train

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/rng"
	"proactivedp/sim"
)

// stageSpec is the spec of stages of a training on drawn.
func stageSpec() Spec {
	s := smallSpec()
	s.NoiseMultiplier = 0
	return s
}

func prepareStage(t *testing.T, source *Source, s Spec, stage Stage) *Prepared {
	t.Helper()
	p, err := source.PrepareStage(s, stage)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func runStage(t *testing.T, p *Prepared) *sim.Result {
	t.Helper()
	r, err := p.Run(t.Context(), sim.Perf{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// If all clients take part with the same noise and run number, a stage is a usual training. Clients of a
// later stage have their own noise, records and release.
func TestLegsHaveNoiseOfTheirOwn(t *testing.T) {
	source, spec := NewSource(drawn()), stageSpec()
	first := runStage(t, prepareStage(t, source, spec, Stage{Participants: []Participant{
		{Client: 0, NoiseMultiplier: 4, Run: 1}, {Client: 3, NoiseMultiplier: 2, Run: 2, Records: 100}}}))
	p := prepareStage(t, source, spec, Stage{Initial: first.Params,
		Participants: []Participant{{Client: 3, NoiseMultiplier: 1, Run: 3, Records: 100}}})
	second := runStage(t, p)
	var all []dp.Event
	for _, l := range slices.Concat(first.Ledgers, second.Ledgers) {
		all = append(all, l.Events()...)
	}
	if _, err := dp.Compose(all[:1], all[1:2], all[2:]); err != nil {
		t.Errorf("the participants share noise: %v", err)
	}
	for i, want := range []struct {
		sigma float64
		n     int
		run   uint64
	}{{4, 320, 1}, {2, 100, 2}, {1, 100, 3}} {
		if e := all[i]; e.NoiseMultiplier != want.sigma || e.DatasetSize != want.n || e.Noise.Run != want.run {
			t.Errorf("participant %d released %+v, want %+v", i, e, want)
		}
	}
	privacy, err := p.ReleasedPrivacy(t.Context(), second)
	if err != nil || privacy.NoiseMultiplier != 1 {
		t.Errorf("σ = %v stated, must be the participant's 1 (%v)", privacy.NoiseMultiplier, err)
	}
}

// A stopped stage continues to the same bits, and not from the checkpoint of another stage. In one stage, a client has
// its own batch size.
func TestStoppedLegGoesOn(t *testing.T) {
	for _, own := range []int{0, 31} {
		stoppedLegGoesOn(t, own)
	}
}

func stoppedLegGoesOn(t *testing.T, own int) {
	source, spec := NewSource(drawn()), stageSpec()
	spec.GradComps = longSpec().GradComps
	stage := Stage{Participants: []Participant{{Client: 1, NoiseMultiplier: 4, Run: 1}, {Client: 2, NoiseMultiplier: 5, Run: 2, SampleSize: own}}}
	p := prepareStage(t, source, spec, stage)
	want := runStage(t, p).ParamsSHA256()
	path := filepath.Join(t.TempDir(), "leg.checkpoint")
	ctx, cancel := context.WithCancelCause(t.Context())
	planted := errors.New("planted interrupt")
	if _, _, err := p.RunKept(ctx, sim.Perf{}, func(b sim.Broadcast) {
		if b.K == 100 {
			cancel(planted)
		}
	}, Keep{Path: path}); !errors.Is(err, planted) {
		t.Fatal(err)
	}
	from := opened(t, path)
	r, _, err := p.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path, From: from})
	if err != nil || r.ParamsSHA256() != want {
		t.Fatalf("resumed to %v (%v), want %s", r, err, want)
	}
	other := stage
	other.Participants = slices.Clone(stage.Participants)
	other.Participants[1].NoiseMultiplier = 1
	sized := stage
	sized.Participants = slices.Clone(stage.Participants)
	sized.Participants[1].SampleSize = 32
	for _, o := range []*Prepared{
		prepareStage(t, source, spec, other),
		prepareStage(t, source, spec, sized),
		prepareStage(t, source, spec, Stage{Initial: r.Params, Participants: stage.Participants}),
	} {
		if _, _, err := o.RunKept(t.Context(), sim.Perf{}, nil, Keep{Path: path, From: from}); err == nil ||
			!strings.Contains(err.Error(), "leg = ") {
			t.Errorf("went on from the checkpoint of another leg: %v", err)
		}
	}
}

func TestLegsAreChecked(t *testing.T) {
	source := NewSource(drawn())
	participant := Participant{NoiseMultiplier: 1, Run: 1}
	for _, c := range []struct {
		change func(s *Spec, l *Stage)
		want   string
	}{
		{func(_ *Spec, l *Stage) { l.Participants = nil }, "number of participants = 0"},
		{func(s *Spec, _ *Stage) { s.NoiseMultiplier = 1 }, "must be 0, 0 and false"},
		{func(s *Spec, _ *Stage) { s.Run = 1 }, "must be 0, 0 and false"},
		{func(s *Spec, _ *Stage) { s.BoundsEpsilon = 1 }, "bounds epsilon of the spec = 1, must be 0"},
		{func(_ *Spec, l *Stage) { l.Participants[0].Client = 5 }, "client = 5 at place 0"},
		{func(_ *Spec, l *Stage) { l.Participants = []Participant{participant, participant} }, "client = 0 at place 1"},
		{func(_ *Spec, l *Stage) {
			l.Participants = append(l.Participants, Participant{Client: 1, NoiseMultiplier: 1, Run: 1})
		},
			"share their noise"},
		{func(_ *Spec, l *Stage) { l.Participants[0].Records = 1e6 }, "records = 1000000, must be at most the 320"},
		{func(_ *Spec, l *Stage) { l.Participants[0].Records = -1 }, "records = -1"},
		{func(_ *Spec, l *Stage) { l.Participants[0].SampleSize = -1 }, "client 0: sample size = -1"},
		{func(_ *Spec, l *Stage) { l.Participants[0].SampleSize = 1e6 }, "client 0: sample size = 1000000, must be in"},
		{func(_ *Spec, l *Stage) { l.Participants[0].SampleSize = 1 }, "client 0: sizes = 1 give"},
		{func(s *Spec, l *Stage) {
			s.SampleSize, l.Participants[0].SampleSize = "linear:1,1", 30
		}, "client 0: sizes = 30, must be those of all clients, linear:1,1"},
		{func(_ *Spec, l *Stage) { l.Initial = []float32{1} }, "initial model has 1 parameters"},
		{func(_ *Spec, l *Stage) { l.Participants[0].NoiseMultiplier = -1 }, "noise multiplier = -1"},
	} {
		spec, stage := stageSpec(), Stage{Participants: []Participant{participant}}
		spec.Partition = string(data.Replicate)
		c.change(&spec, &stage)
		if _, err := source.PrepareStage(spec, stage); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, must say %q", err, c.want)
		}
	}
	for size, noted := range map[int]bool{0: false, 6: false, 12: true} { // the batch size of the spec is 6
		p := prepareStage(t, source, stageSpec(), Stage{Participants: []Participant{participant,
			{Client: 1, NoiseMultiplier: 1, Run: 2, SampleSize: size}}})
		if got := strings.Contains(strings.Join(p.Notes, "; "), "their own batch sizes, up to 12"); got != noted {
			t.Errorf("a batch size of %d: notes %q", size, p.Notes)
		}
	}
}

// If the noise of a stage comes from a secret, the saved model has no digest of the records. This also
// holds if the file lists no releases, because nobody knows which client holds a record.
func TestSavedLegHasNoDigestOfRecords(t *testing.T) {
	secret, err := rng.NewFromOS()
	if err != nil {
		t.Fatal(err)
	}
	spec := stageSpec()
	spec.Partition = string(data.Shard)
	p := prepareStage(t, NewSource(drawn()), spec, Stage{Root: secret, Participants: []Participant{
		{Client: 0, NoiseMultiplier: 4, Run: 1}, {Client: 1, NoiseMultiplier: 2, Run: 2}}})
	path, r := saveTrained(t, p)
	if m, err := OpenModel(path); err != nil || m.DataSHA256 != "" {
		t.Errorf("the file has the records' digest %q (%v), and %d releases", m.DataSHA256, err, len(r.Releases))
	}
}
