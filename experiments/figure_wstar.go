package experiments

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/paper"
	"proactivedp/internal/plots"
	"proactivedp/internal/report"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// recipe has the settings with which the w* of a utility graph is trained, about which the paper
// says little.
type recipe struct {
	name    string
	train   train.Spec // without its length and seed
	lengths []float64  // relative to the length of the utility graph's w*
}

// recipes returns the recipes that an experiment tries. The utility graph's own recipe is the first.
func (s experiment) recipes() []recipe {
	own := s.Utility()
	if train.IsNetwork(own.Model) {
		all := []recipe{{"as in the utility graph", own, []float64{0.25, 1}}}
		for _, times := range []float64{2.5, 5, 10} {
			faster := own
			faster.Eta0 *= times
			all = append(all, recipe{fmt.Sprintf("η₀ times %g", times), faster, []float64{0.25, 1}})
		}
		return all
	}
	lengths := []float64{0.2, 1}
	ridge := s.WithoutNoise()
	less := ridge
	less.Lambda = 1e-5
	plain := pool.Convex(train.Plain, own.Data).WithoutNoise()
	faster := plain
	faster.Eta0 *= 5
	return []recipe{{"as in the utility graph", own, lengths}, {"ridge, λ = 1/N for each record", ridge, lengths},
		{"ridge, λ = 1e-5", less, lengths}, {"no penalty", plain, lengths}, {"no penalty, η₀ times 5", faster, lengths}}
}

// wstar is the figure that shows how much accuracy w* keeps under noise, depending on how it was
// trained. The verdicts on utility graphs use it.
type wstar struct {
	experiment
	sigmas []float64 // noise multipliers that the paper's text names for the clipping norm
	stated float64   // fraction of the accuracy that is left there according to the paper
}

// wstarFigure returns the figure of a wstar for an experiment. The paper's text must name noise multipliers for
// the experiment's clipping norm.
func (s experiment) wstarFigure() Figure {
	w := wstar{experiment: s}
	for _, c := range paper.Claims() {
		if c.Figure == s.name()+"-utility" && c.Quantity == paper.Kept && c.Clip.Value() == s.Train.Clip {
			w.sigmas, w.stated = append(w.sigmas, c.Sigma.Value()), c.Value.Value()
		}
	}
	return utilityFigureOf(Figure{
		Name: s.name() + "-wstar", Data: s.Train.Data, Long: true,
		Title: fmt.Sprintf("How much noise w* tolerates, by how it was trained: %s on %s", train.ModelTitle(s.Train.Model),
			s.Train.Data),
	}, w.specs, w.draw, "series", "length", "seed")
}

// trained is the w* of a recipe with one length, for each seed.
type trained struct {
	recipe string
	length float64
	specs  []pool.UtilitySpec
}

// all returns every trained w* of the figure, by recipe and then by length.
func (w wstar) all(f *figureConfig) []trained {
	var all []trained
	for _, recipe := range w.recipes() {
		for _, length := range recipe.lengths {
			one := trained{recipe: recipe.name, length: length}
			t := f.by(recipe.train)
			t.GradComps = max(1, f.gradComps(int(length*float64(w.WStar)))/t.Clients)
			for seed := range f.seeds {
				t.Seed = uint64(seed + 1)
				one.specs = append(one.specs, pool.UtilitySpec{Train: t, Sigmas: w.sigmas, Draws: f.draws(w.Draws)})
			}
			all = append(all, one)
		}
	}
	return all
}

func (w wstar) specs(f *figureConfig) (all []pool.UtilitySpec) {
	for _, one := range w.all(f) {
		all = append(all, one.specs...)
	}
	return all
}

func (w wstar) draw(f *figureConfig, graphs []*pool.Utility) *content {
	table := [][]string{{"data", "series", "length", "seed", "model", "grad_computations", "lambda", "eta0", "clip",
		"sigma", "fraction", "fraction_sd", "test_accuracy", "wstar_accuracy", "wstar_norm"}}
	first := decimal.Exactly(w.sigmas[0])
	rows := [][]string{{"w*", "gradients", "‖w*‖", "accuracy of w*", "part left at σ = " + first}}
	var lines []plots.Line
	for i, one := range w.all(f) {
		bySeed := graphs[i*f.seeds : (i+1)*f.seeds]
		for seed, u := range bySeed {
			table = append(table, one.rows(f, seed, u)...)
		}
		if len(lines) == 0 || lines[len(lines)-1].Name != one.recipe {
			lines = append(lines, plots.Line{Name: one.recipe, Points: true})
		}
		t := one.specs[0].Train
		rows = append(rows, append([]string{one.recipe, strconv.Itoa(t.GradComps * t.Clients)},
			addBorne(&lines[len(lines)-1], bySeed)...))
	}
	picture := plots.Picture{
		Title:  fmt.Sprintf("%s: how much noise w* tolerates, by its norm", f.data().Name),
		XLabel: "‖w*‖", LogarithmicX: true,
		YLabel:  fmt.Sprintf("fraction of test accuracy at σ = %s", first),
		Caption: w.caption(f), Rows: rows, Banner: f.banner(),
		Lines: append(lines, levelLine(lines, "stated by the paper", w.stated)),
	}
	accuracyAxis(&picture)
	return &content{picture: picture, table: table, config: w.specs(f)}
}

// rows returns the data of the w* with one seed, as a row for each σ.
func (one trained) rows(f *figureConfig, seed int, u *pool.Utility) [][]string {
	t := one.specs[seed].Train
	var rows [][]string
	for _, p := range u.Points {
		rows = append(rows, []string{f.data().Name, one.recipe, report.Number(one.length), strconv.Itoa(seed + 1), t.Model,
			strconv.Itoa(t.GradComps), report.Number(t.Lambda), report.Number(t.Eta0), report.Number(t.Clip),
			decimal.Exactly(p.Sigma), report.Number(p.Fraction), report.Number(p.FractionSD),
			report.Number(p.MeanAccuracy), report.Number(u.Accuracy), report.Number(u.Norm)})
	}
	return rows
}

// addBorne adds a point to the line l: the fraction of the accuracy of w* that is left at the first
// σ, over the norm of w*. Both are means over seeds. It returns norm, accuracy and fraction as text.
func addBorne(l *plots.Line, bySeed []*pool.Utility) []string {
	var norms, accuracies []float64
	for _, u := range bySeed {
		norms, accuracies = append(norms, u.Norm), append(accuracies, u.Accuracy)
	}
	norm, _ := report.Spread(norms)
	accuracy, sd := report.Spread(accuracies)
	addLeft(l, norm, bySeed, 0)
	end := len(l.Y) - 1
	return []string{report.Fixed(norm, 1), report.SpreadText(accuracy, sd, len(bySeed)),
		fmt.Sprintf("%.4f ± %.4f", l.Y[end], l.Hi[end]-l.Y[end])}
}

// caption returns the figure's caption, which describes the recipes and lengths that were tried.
func (w wstar) caption(f *figureConfig) string {
	var sigmas []string
	for _, sigma := range w.sigmas {
		sigmas = append(sigmas, decimal.Exactly(sigma))
	}
	return fmt.Sprintf("w* is trained without noise, C = %g, by %s, with steps and for lengths that the paper does "+
		"not give for this graph; it names σ = %s.\n"+
		"n ~ N(0, C²σ²I) on every coordinate, unscaled, %s per point, %s%s; mean and one standard deviation over "+
		"seeds and draws.\nThis "+ownPrivacy+".",
		w.Train.Clip, decimal.Many(w.Train.Clients, "client"), strings.Join(sigmas, " and "),
		decimal.Many(f.draws(w.Draws), "draw"), seedsText(f.seeds), f.note())
}
