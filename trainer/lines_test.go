package trainer

import (
	"strings"
	"testing"

	"proactivedp/dp"
)

// Rounds that a script printed count also after a line that is an error, and a line about rounds that cannot be read is as bad
// as can be: the ledger must not have less than what ran.
func TestRoundsCountAfterAnError(t *testing.T) {
	less := `{"rounds": {"noise_multiplier": 0.5, "sample_rate": 0.01, "steps": 180}}` + "\n"
	for name, c := range map[string]struct {
		text  string
		noise float64
		steps int
	}{
		"garbage before":       {"Epoch 1/20: loss 0.69\n" + less, 0.5, 180},
		"a long line before":   {strings.Repeat(" ", 3*MaxLine) + "\n" + less, 0.5, 180},
		"too many lines":       {strings.Repeat(`{"curve": {"step": 1, "metric": 0.5}}`+"\n", MaxLines+1) + less, 0.5, 180},
		"no line break":        {"Epoch\n" + strings.TrimSpace(less), 0.5, 180},
		"steps no integer":     {strings.Replace(less, "180", "180.0", 1), 0, 60},
		"noise no number":      {strings.Replace(less, "0.5", "NaN", 1), 0, 60},
		"another key":          {strings.Replace(less, `"steps"`, `"epochs": 1, "steps"`, 1), 0, 60},
		"in a long line":       {strings.Repeat(" ", 2*MaxLine) + less, 0, 60},
		"more than are kept":   {strings.Repeat(strings.Replace(less, "0.5", "2", 1), 2*MaxLines+5) + less, 0, 0},
		"long, no line break":  {"x\n" + strings.Repeat(" ", MaxLine+1) + `{"rounds"`, 0, 60},
		"garbage not of steps": {"Epoch 1/20\n", 1, 60},
	} {
		for _, size := range []int{1, 7, 4096, len(c.text)} { // pieces in which the text comes
			o := &output{stop: func(error) {}}
			for at := 0; at < len(c.text); at += size {
				if _, err := o.Write([]byte(c.text[at:min(at+size, len(c.text))])); err != nil {
					t.Fatal(err)
				}
			}
			r, err := o.finish()
			e := raised(dp.Event{NoiseMultiplier: 1, SampleSize: 10, DatasetSize: 1000, Count: 60}, r.Rounds)
			if err == nil || e.NoiseMultiplier != c.noise || c.steps > 0 && e.Count != c.steps {
				t.Errorf("%s in pieces of %d: σ = %v, %d steps, %v; want σ = %v, %d steps and an error", name, size, e.NoiseMultiplier, e.Count,
					err, c.noise, c.steps)
			}
		}
	}
}
