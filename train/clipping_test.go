package train

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/sim"
)

// Automatic clipping needs the same noise and has the same ε as usual clipping. It trains another model,
// and every report of the training says so.
func TestAutomaticClipping(t *testing.T) {
	source := NewSource(drawn())
	reports := map[string]*Report{}
	for _, clipping := range []string{"", AutomaticClipping} {
		s := smallSpec()
		s.Clipping, s.Delta = clipping, 1e-5
		s, err := source.Calibrate(t.Context(), s, 3)
		if err != nil {
			t.Fatal(err)
		}
		p, err := source.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		if reports[clipping], err = p.Train(context.Background(), sim.Perf{}, nil); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.model")
		if err := reports[clipping].Save(path, NewInputs(p.Read(), "", nil)); err != nil {
			t.Fatal(err)
		}
		if m, err := OpenModel(path); err != nil || m.Spec.Clipping != clipping {
			t.Errorf("saved %+v, %v", m, err)
		}
	}
	plain, automatic := reports[""], reports[AutomaticClipping]
	if *plain.Privacy.EpsilonUpper != *automatic.Privacy.EpsilonUpper || plain.Spec.NoiseMultiplier != automatic.Spec.NoiseMultiplier {
		t.Errorf("ε ≤ %v and %v", *plain.Privacy.EpsilonUpper, *automatic.Privacy.EpsilonUpper)
	}
	if plain.ParamsSHA256 == automatic.ParamsSHA256 {
		t.Error("both trained the same model")
	}
	const how = "gradients g are multiplied by C/(1 + "
	if !strings.Contains(automatic.Privacy.Sum, how) || strings.Contains(plain.Privacy.Sum, how) {
		t.Errorf("statements %q and %q", plain.Privacy.Sum, automatic.Privacy.Sum)
	}
	if !strings.Contains(strings.Join(automatic.Notes, "\n"), "automatic clipping") {
		t.Errorf("notes %q", automatic.Notes)
	}
	s := smallSpec()
	s.Clipping = "adaptive"
	if _, err := source.Prepare(s); err == nil || !strings.Contains(err.Error(), `clipping = "adaptive", must be "automatic"`) {
		t.Errorf("adaptive: %v", err)
	}
}
