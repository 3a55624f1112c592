package experiments

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"proactivedp/data"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
	"proactivedp/propose"
	"proactivedp/train"
)

// SearchReport is the result of [Search]: for each noise multiplier, a ranking of the models, clipping norms and step
// sizes that were tried.
type SearchReport struct {
	Data        string `json:"data"`
	DataSHA256  string `json:"data_sha256"`    // SHA-256 of the parsed records of the data set
	Synthetic   bool   `json:"synthetic_data"` // whether the data are made up
	HeldOutRows int    `json:"held_out_rows"`  // number of held-out training records on which the accuracy is measured, mean over seeds
	// MajorityShare is the baseline: the best value of the metric that the same prediction for all rows reaches, mean
	// over seeds.
	MajorityShare float64 `json:"majority_share"`
	// GradComps is the number of gradients that each client computes in a whole training, not in a proxy (a
	// cheaper training in its place).
	GradComps int    `json:"grad_computations"`
	Seeds     int    `json:"seeds"`
	Features  string `json:"features,omitempty"` // features that replace the images' pixels, see train.Spec.FeatureMap
	// Rankings has one ranking for each noise multiplier of the spec, in that order.
	Rankings []SearchRanking `json:"rankings"`
	// Compared is the result of [propose.Compare] before the search, for image data: pairs of a model and features, the
	// best first. The search uses the first pair. Compared is empty if nothing was compared, for example because the
	// user gave the model. Search copies it from [SearchOptions].Compared.
	Compared      []propose.Compared `json:"compared,omitempty"`
	Notes         []string           `json:"notes,omitempty"` // warnings about the settings of the trainings
	PrivacyReason string             `json:"privacy_reason"`  // why no (ε, δ) covers the search
	Command       string             `json:"command"`         // command that repeats the search
	metric        string
}

// SearchRanking is the result of a [Search] for one noise multiplier (Sigma): the combinations of settings that were
// tried, the best first.
type SearchRanking struct {
	Sigma float64 `json:"sigma"`
	// Proxy is the batch size of the trainings that were run in place of whole ones (proxies), as a fraction of the
	// batch size of a whole training. It differs slightly from [SearchSpec].Proxy, because batch sizes are whole
	// numbers. It is 1 if whole trainings were run.
	Proxy      float64           `json:"proxy"`
	RunComps   int               `json:"run_grad_computations"` // number of gradients that each client computes in one run
	Winner     SearchCandidate   `json:"winner"`                // best combination, the first of Candidates
	Candidates []SearchCandidate `json:"candidates"`            // all combinations of settings, the best first
	how        string
	warning    string // see train.Spec.BaselineWarning
}

// SearchCandidate is one combination of a search's grid: a model with its clipping norm and step sizes, and the
// results of its runs. The step sizes are for a whole training, even if cheaper trainings with other step sizes
// (proxies) ran in its place.
type SearchCandidate struct {
	Model    string  `json:"model"`
	Schedule string  `json:"schedule"`           // schedule of step sizes, see train.Spec.Schedule
	Eta0     float64 `json:"eta0"`               // initial step size
	Beta     float64 `json:"beta"`               // how fast the step size falls, see train.Spec.Beta
	Clip     float64 `json:"clip"`               // clipping norm C
	Accuracy float64 `json:"held_out_accuracy"`  // held-out accuracy, mean over seeds; a run that diverged counts as 0
	SD       float64 `json:"standard_deviation"` // standard deviation of the accuracy over seeds; 0 for one seed
	Diverged int     `json:"diverged"`           // number of seeds whose run diverged
	Command  string  `json:"command,omitempty"`  // for a winner: command that trains this combination in full, on all training records
	step     string
}

// privacyReason says why a search has no ε.
const privacyReason = "the search trains on the same records again and again and picks by what it sees: it is " +
	"covered by no privacy statement"

// report returns the report of the points, without what its method judged adds.
func (s SearchSpec) report(all []found, d *data.Dataset, o SearchOptions) *SearchReport {
	r := SearchReport{
		Data: d.Name, Synthetic: d.Synthetic, GradComps: all[0].spec.GradComps,
		Seeds: s.Seeds, Notes: s.Train.Notes(), PrivacyReason: privacyReason, Command: commandOf(o.Command, s),
		Features: s.Train.FeatureMap, Compared: o.Compared,
		metric: s.Train.MetricName(),
	}
	for _, sigma := range s.Sigmas {
		ranked := best(all, sigma)
		w := ranked[0]
		run := s.Train
		run.NoiseMultiplier = sigma
		ranking := SearchRanking{Sigma: sigma, Proxy: w.proxy(), RunComps: w.run.GradComps, how: w.how(), warning: run.BaselineWarning()}
		for _, f := range ranked {
			ranking.Candidates = append(ranking.Candidates, SearchCandidate{
				Model: f.spec.Model, Schedule: f.spec.Schedule, Eta0: f.spec.Eta0, Beta: f.spec.Beta, Clip: f.spec.Clip,
				Accuracy: f.mean, SD: f.sd, Diverged: diverged(f.trials), step: f.spec.StepText(),
			})
		}
		ranking.Winner = ranking.Candidates[0]
		ranking.Winner.Command = o.winner(w)
		r.Rankings = append(r.Rankings, ranking)
	}
	return &r
}

// judged adds the digest of the data, the number of held-out rows and the baseline of trainings of the spec.
func (r *SearchReport) judged(source *train.Source, spec train.Spec) error {
	held := 0.0
	for seed := range r.Seeds {
		spec.Seed = uint64(seed) + 1
		p, err := source.Prepare(spec)
		if err != nil {
			return err
		}
		r.MajorityShare += p.Baseline(p.Test) / float64(r.Seeds)
		held += float64(p.Test.Len()) / float64(r.Seeds)
	}
	r.DataSHA256, r.HeldOutRows = source.Hash(), int(math.Round(held))
	return nil
}

// shownCandidates is the number of printed candidates of a ranking. The folder has all.
const shownCandidates = 5

// WriteText writes, for each noise multiplier, the best combination and its closest competitors as text.
func (r *SearchReport) WriteText(w io.Writer) error {
	metric := r.metric
	var text strings.Builder
	fmt.Fprintf(&text, "search on %s: judged by about %d held-out training records, not by the test set\n",
		report.Data(r.Data, r.Synthetic, ""), r.HeldOutRows)
	for _, ranking := range r.Rankings {
		noise := "σ = " + decimal.Exactly(ranking.Sigma)
		if ranking.Sigma == 0 {
			noise = "without noise"
		}
		if best := ranking.Winner; best.Diverged == r.Seeds {
			fmt.Fprintf(&text, "\n%s: every run diverged\n", noise)
		} else {
			fmt.Fprintf(&text, "\n%s: the best is %v with clipping norm %s and step size %s, held-out %s %.4f (%.4f by always predicting "+
				"the same class)\n", noise, propose.Head{Model: best.Model, Features: r.Features}, report.Number(best.Clip), best.step, metric, best.Accuracy, r.MajorityShare)
			if best.Accuracy <= r.MajorityShare {
				fmt.Fprintf(&text, "WARNING: %s\n", ranking.warning)
			}
		}
		fmt.Fprintf(&text, "%s\n", ranking.how)
		if ranking.Winner.Command != "" {
			fmt.Fprintf(&text, "train it whole, on all training records: %s\n", ranking.Winner.Command)
		}
		t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "  model\tC\tη₀\tβ\theld-out %s\tstandard deviation\tdiverged\n", metric)
		for _, c := range ranking.Candidates[:min(shownCandidates, len(ranking.Candidates))] {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%.4f\t%s\t%d of %d\n", c.Model, report.Number(c.Clip), report.Number(c.Eta0),
				report.Number(c.Beta), c.Accuracy, deviationText(c.SD, r.Seeds), c.Diverged, r.Seeds)
		}
		t.Flush()
		if more := len(ranking.Candidates) - shownCandidates; more > 0 {
			fmt.Fprintf(&text, "  and %d more\n", more)
		}
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(&text)
	}
	if err := report.WriteNotes(&text, r.Notes); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nprivacy: none; %s\n", r.PrivacyReason)
	_, err := io.WriteString(w, text.String())
	return err
}

// deviationText formats the standard deviation over the given number of seeds, or "–" for one seed.
func deviationText(sd float64, seeds int) string {
	if seeds == 1 {
		return report.NoAnswer
	}
	return report.Fixed(sd, 4)
}
