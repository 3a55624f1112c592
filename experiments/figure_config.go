package experiments

import (
	"context"
	"fmt"
	"math"
	"strings"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp/claim"
	"proactivedp/internal/paper"
	"proactivedp/internal/plots"
	"proactivedp/internal/results"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// content is the content of a figure's folder: picture, table and configuration of the runs.
type content struct {
	picture plots.Picture
	table   [][]string // data in long form, after a header
	config  any        // of the runs, for the manifest
	advice  string     // for the user who made the figure; "" is none
	times   []SizeTime // of sample sizes, for the manifest; nil is none
}

// write writes the content to a figure's folder, drawn as the manifest m says. It adds to m what the content and the
// configuration say.
func (out *content) write(dir string, f *figureConfig, m Manifest) (err error) {
	m.Config, m.Times, m.Scale, m.Runner, m.TimeScale = out.config, out.times, f.scale, f.runner, f.timeScale
	m.Data, m.Files = results.DataOf(f.source), m.Drawing.Files()
	if m.Table, err = results.Digest(out.table); err != nil {
		return err
	}
	return m.Drawing.Write(dir, out.titled(m.Figure), out.table, m)
}

// titled returns the picture, whose title has the number of the paper's figure.
func (out *content) titled(figure string) results.Picture {
	p := out.picture
	p.Title = paper.Titled(figure, p.Title)
	return p.Write
}

// figureConfig has the settings for making a figure: the data, the number of seeds, and the fraction of the full size.
type figureConfig struct {
	source  *train.Source
	set     string // name by which experiments ask for the data
	seeds   int
	scale   float64 // fraction of each training's gradients (K) that is computed, in (0, 1]
	sizes   []int   // of sample-size sweeps; nil means those of the experiment
	epsilon float64 // of comparisons of sample sizes at an equal ε; 0 means that of the experiment
	// times are those of the sample sizes that are compared. Those of hogwild are by a machine with so many cores.
	times   []SizeTime
	machine string
	cores   int
	// runner is the runner of the trainings; "" is the virtual one. timeScale is for runs on a real
	// clock.
	runner    string
	timeScale float64

	choose Chooser                      // if nil, figures that need it are refused
	chosen map[ChoiceRequest]train.Spec // previous answers, which all figures share
	loop   Loop                         // if nil, figures that need it are refused

	kept *keptFigure // with MakeOptions.Add; nil if nothing is kept
}

func (f *figureConfig) data() *data.Dataset { return f.source.Data() }

// gradComps returns the part of K that the figure runs.
func (f *figureConfig) gradComps(full int) int { return scaled(full, f.scale) }

func scaled(n int, scale float64) int { return int(math.Round(float64(n) * scale)) }

// leastDraws is the least number of noise draws of a scaled figure.
const leastDraws = 5

// draws returns the number of noise draws that the figure makes, if full is the number at full
// size.
func (f *figureConfig) draws(full int) int {
	return max(min(full, leastDraws), scaled(full, f.scale))
}

// note returns the note on the data, for the end of a sentence in a caption.
func (f *figureConfig) note() string {
	if f.data().Note == "" {
		return ""
	}
	return "; " + f.data().Note
}

// banner returns a warning for the picture about how the figure differs from one with real data at
// full size, or "".
func (f *figureConfig) banner() string {
	var parts []string
	if f.data().Synthetic {
		parts = append(parts, fmt.Sprintf("SYNTHETIC STAND-IN DATA (%s), not %s", f.data().Name,
			synth.StandsInFor(f.data().Name)))
	}
	if f.scale < 1 {
		parts = append(parts, fmt.Sprintf("SCALE %g: that part of %s", f.scale, pool.WhoseK(f.set)))
	}
	if f.runner == train.HogwildRunner {
		parts = append(parts, "RUNNER hogwild: another run of this command gives another result")
	}
	return strings.Join(parts, "; ")
}

// planned returns the guarantee of each training of the spec, which does not depend on the seed.
func (f *figureConfig) planned(ctx context.Context, spec train.Spec) (claim.Report, error) {
	spec.Seed = 1
	return f.source.PlannedOfSeeds(ctx, spec, f.seeds)
}

// by returns the spec with the configured runner. hogwild gets no clock, so its clients run as fast
// as they can.
func (f *figureConfig) by(spec train.Spec) train.Spec {
	if f.runner != "" {
		spec.Runner = f.runner
	}
	return spec
}

// byClock returns the spec with the configured runner. hogwild gets a real clock.
func (f *figureConfig) byClock(spec train.Spec) train.Spec {
	if spec = f.by(spec); spec.Runner == train.HogwildRunner {
		spec.TimeScale = f.timeScale
	}
	return spec
}
