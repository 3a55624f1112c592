package experiments

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// utilityFigure is the paper's figure (a): how much test accuracy is left when
// noise is added to a trained model, against σ, for several clipping norms.
func utilityFigure(model, dataset string) Figure {
	specs := func(f *frame) (out []UtilitySpec, clips []float64) {
		draws := utilityDraws
		if f.quick {
			draws = 5
		}
		for _, clip := range utilityClips {
			for seed := range f.seeds {
				train := convexSpec(model, dataset)
				train.Clip, train.Seed = clip, uint64(seed+1)
				train.NoiseMultiplier = 0
				train.GradComps = f.gradComps(utilityGradComps) / train.Clients
				out = append(out, UtilitySpec{Train: train, Sigmas: utilitySigmas, Draws: draws})
			}
		}
		return out, utilityClips
	}
	return Figure{
		Name:  dataset + "-" + model + "-utility",
		Data:  dataset,
		Title: fmt.Sprintf("Utility graph: accuracy left under noise, %s on %s", modelTitle(model), dataset),
		cells: func(f *frame) []cell {
			var cells []cell
			all, _ := specs(f)
			for _, s := range all {
				cells = append(cells, utilityCell(s, f.data, f.hash))
			}
			return cells
		},
		finish: func(f *frame, results []json.RawMessage) (*outcome, error) {
			all, clips := specs(f)
			table := [][]string{{"data", "model", "clip", "seed", "sigma", "fraction", "fraction_sd", "test_accuracy", "wstar_accuracy", "wstar_norm"}}
			var lines []line
			var norms []string
			for c, clip := range clips {
				var bySeed []*Utility
				for s := range f.seeds {
					u, err := decode[*Utility](results[c*f.seeds+s])
					if err != nil {
						return nil, err
					}
					bySeed = append(bySeed, u)
					for _, p := range u.Points {
						table = append(table, []string{f.data.Name, model, number(clip), strconv.Itoa(s + 1), number(p.Sigma),
							number(p.Fraction), number(p.FractionSD), number(p.MeanAccuracy), number(u.Accuracy), number(u.Norm)})
					}
				}
				lines = append(lines, utilityLine(clip, bySeed))
				norms = append(norms, utilityNorm(clip, bySeed))
			}
			spec := all[0]
			caption := fmt.Sprintf(
				"w*: clipping norm C, no noise, K = %d gradient computations in all (%d clients, s = %s, step size %s).\n"+
					"Mean ‖w*‖ and test accuracy over %d seeds: %s.\n"+
					"n ~ N(0, C²σ²I) on every coordinate, unscaled, %d draws per point; mean and one standard deviation over seeds and draws.\n"+
					"This graph spends privacy of its own: it looks at the data without noise and is covered by no (ε, δ).",
				spec.Train.GradComps*spec.Train.Clients, spec.Train.Clients, spec.Train.SampleSize, stepText(spec.Train),
				f.seeds, strings.Join(norms, "; "), spec.Draws)
			return &outcome{
				picture: picture{
					title:   fmt.Sprintf("%s, %s: accuracy of w* + n over that of w*", f.data.Name, modelTitle(model)),
					xLabel:  "noise multiplier σ (noise per coordinate: Cσ)",
					yLabel:  "fraction of test accuracy",
					caption: caption, banner: f.banner(), lines: lines,
					yMin: 0.5, yMax: 1.02,
				},
				table: table, config: all,
			}, nil
		},
	}
}

// utilityLine averages over seeds; the band is one standard deviation over
// seeds and draws together.
func utilityLine(clip float64, bySeed []*Utility) line {
	l := line{name: fmt.Sprintf("C = %g", clip)}
	for i, p := range bySeed[0].Points {
		var means []float64
		within := 0.0
		for _, u := range bySeed {
			means = append(means, u.Points[i].Fraction)
			within += u.Points[i].FractionSD * u.Points[i].FractionSD / float64(len(bySeed))
		}
		l.add(p.Sigma, means, within)
	}
	return l
}

func utilityNorm(clip float64, bySeed []*Utility) string {
	var norm, accuracy float64
	for _, u := range bySeed {
		norm += u.Norm / float64(len(bySeed))
		accuracy += u.Accuracy / float64(len(bySeed))
	}
	return fmt.Sprintf("C = %g: %.2f, %.3f", clip, norm, accuracy)
}
