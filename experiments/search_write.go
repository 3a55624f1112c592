package experiments

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"proactivedp/data/synth"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/propose"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// The files in a search's folder.
const (
	readmeFile = "README.md"
	tableFile  = "search.csv"
	mark       = "<!-- Written by proactivedp search. -->\n"
)

// SearchManifest is the content of the manifest that [Search] writes to its folder: how the search was made.
type SearchManifest struct {
	Command string       `json:"command"`
	Config  SearchSpec   `json:"config"`
	Data    results.Data `json:"data"`
	results.Origin
	SHA256 string `json:"manifest_sha256"` // SHA-256 of this manifest with this field empty; detects damage
}

// Search trains all combinations of settings that s lists, on the data of source, and returns their ranking. It
// writes tables, the command for each winner and a manifest to the folder o.Out. Finished runs are kept in its
// subfolder .cells, so that an interrupted call can be continued. Only one call at a time may write to o.Out. No (ε,
// δ) covers a search, because it trains on the same records many times and chooses by the results.
func Search(ctx context.Context, s SearchSpec, source *train.Source, o SearchOptions) (*SearchReport, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := o.CheckOut(); err != nil {
		return nil, err
	}
	var r *SearchReport
	err := files.InFolder(o.Out, func() (err error) {
		r, err = runAndWrite(ctx, s, source, o)
		return err
	})
	return r, err
}

func runAndWrite(ctx context.Context, s SearchSpec, source *train.Source, o SearchOptions) (*SearchReport, error) {
	start := time.Now()
	all, spent, err := s.search(ctx, source, pool.Options{
		Folder: filepath.Join(o.Out, pool.Folder), Workers: o.Workers, Scale: s.Scale, Progress: o.Progress,
		Memory: o.Memory, Elsewhere: o.Elsewhere,
	})
	if err != nil {
		return nil, err
	}
	r := s.report(all, source.Data(), o)
	if err := r.judged(source, all[0].spec); err != nil {
		return nil, err
	}
	m := SearchManifest{
		Command: r.Command, Config: s, Data: results.DataOf(source),
		Origin: results.NewOrigin(len(all)*s.Seeds, spent.Computed, time.Since(start), spent.Time),
	}
	return r, files.WriteSet([]files.Output{
		{Path: filepath.Join(o.Out, readmeFile), Write: files.Text(mark + s.readme(all, r))},
		{Path: filepath.Join(o.Out, tableFile),
			Write: func(w io.Writer) error { return results.WriteTable(w, records(all)) }},
	}, files.Output{
		Path: filepath.Join(o.Out, results.ManifestFile), Write: func(w io.Writer) error { return results.WriteManifest(w, m) },
	})
}

// SearchOptions says where a search writes its results, and how much memory and how many processes it
// uses.
type SearchOptions struct {
	Out      string    // folder to write to
	Workers  int       // largest number of runs at the same time; memory may limit it further
	Progress io.Writer // shows the progress, unless it is nil
	// Command returns the command line that repeats the search; it is written to the manifest. If Command is nil, the
	// manifest has no command.
	Command func(SearchSpec) string
	// TrainCommand returns the command line that trains with the given settings; the report has it for each winner.
	// If TrainCommand is nil, the report has no such commands.
	TrainCommand func(train.Spec) string
	// Memory limits the memory of the process, in bytes. 0 means the least of the machine's memory, the limit of the
	// control group, and GOMEMLIMIT.
	Memory int64
	// Elsewhere computes the trainings in other processes. If it is nil, this process computes them.
	Elsewhere pool.Elsewhere
	// Compared is copied to [SearchReport].Compared. Set it if [propose.Compare] chose the model and the features of
	// the search.
	Compared []propose.Compared
}

// CheckOut returns an error if the folder o.Out has a file README.md that no search wrote, because Search would
// replace the file.
func (o SearchOptions) CheckOut() error {
	_, err := report.HoldsOurs(o.Out, readmeFile, mark, "one of a search")
	return err
}

// winner returns the command that trains the winner whole, also on the held-out records. It returns ""
// if the winner diverged or there is no such command.
func (o SearchOptions) winner(f found) string {
	if o.TrainCommand == nil || diverged(f.trials) == len(f.trials) {
		return ""
	}
	f.spec.Holdout, f.spec.Fold = 0, 0
	return o.TrainCommand(f.spec)
}

// part returns text about the fraction of the paper's K that a training computes. It returns "" for data that the
// paper does not use.
func (s SearchSpec) part(t train.Spec) string {
	if !pool.Has(t.Data) {
		return ""
	}
	return fmt.Sprintf(" (%.4g times the paper's K)", float64(t.GradComps)/float64(PaperSearch(s.Models[0], s.Train.Data).Train.GradComps))
}

// records returns every run as rows of CSV, after a header.
func records(all []found) [][]string {
	out := [][]string{{"data", "model", "sigma", "sample_size", "clip", "schedule", "eta0", "beta", "grad_computations",
		"seed", "held_out_rows", "held_out_accuracy", "diverged", "proxy", "run_sample_size",
		"run_grad_computations"}}
	for _, f := range all {
		for i, t := range f.trials {
			s := f.spec
			out = append(out, []string{s.Data, s.Model, decimal.Exactly(s.NoiseMultiplier), s.SampleSize,
				report.Number(s.Clip), s.Schedule,
				report.Number(s.Eta0), report.Number(s.Beta), strconv.Itoa(s.GradComps), strconv.Itoa(i + 1),
				strconv.Itoa(t.Rows), report.Number(t.Accuracy), strconv.FormatBool(t.Diverged),
				report.Number(f.proxy()), f.run.SampleSize, strconv.Itoa(f.run.GradComps)})
		}
	}
	return out
}

// readme returns the page about the search and its result.
func (s SearchSpec) readme(all []found, r *SearchReport) string {
	made := ""
	if r.Command != "" {
		made = ": `" + r.Command + "`"
	}
	var p report.Page
	t := all[0].spec
	p.Title("Search for the step size on " + r.Data)
	if r.Synthetic {
		p.Text("**Synthetic stand-in data**, not %s.", synth.StandsInFor(r.Data))
	}
	what := "model and step size"
	if clipped(all) {
		what = "model, clipping norm and step size"
	}
	p.Text("%s combination of %s is trained on the training set without %s. The accuracy on these held-out records "+
		"ranks the combination. The test set is not used. A training is either complete or a proxy (a cheaper training).",
		s.why(), what, s.heldOut())
	if len(r.Compared) > 0 {
		p.Text("Chosen before the search: %s.", propose.ComparedText(t.Metric, r.Compared))
	}
	features, plain, clip := "", "", fmt.Sprintf(", clipping norm C = %g", t.Clip)
	if clipped(all) {
		clip = ""
	}
	if t.FeatureMap != "" {
		features = ", features " + t.FeatureMap
	}
	if slices.Contains(s.Sigmas, 0) {
		plain = " also without noise,"
	}
	p.Text("**No privacy statement covers the search**: it trains on the same records many times,%s and chooses by the "+
		"results. The ε of a training with the best step size is only for this training.", plain)
	p.Items([]string{
		fmt.Sprintf("K = %d gradients for each of %s%s, batch size s = %s%s, schedule %s, partition %s%s.",
			t.GradComps, decimal.Many(t.Clients, "client"), s.part(t), t.SampleSize, clip, t.Schedule, t.Partition, features),
		fmt.Sprintf("The accuracy on the held-out records is the mean over %s. A run that diverged counts as 0.",
			decimal.Many(s.Seeds, "seed")),
		fmt.Sprintf("[%s](%[1]s) has every run, and [%s](%[2]s) the settings%s", tableFile, results.ManifestFile, made),
	})
	for _, note := range r.Notes {
		p.Text("Note: %s.", note)
	}
	for _, ranking := range r.Rankings {
		if ranking.Sigma == 0 {
			p.Section("Without noise")
		} else {
			p.Section("σ = %s", decimal.Exactly(ranking.Sigma))
		}
		var rows [][]string
		heading := []string{"model", "C", "η₀", "β", "held-out accuracy", "standard deviation", "diverged"}
		for _, c := range ranking.Candidates {
			rows = append(rows, []string{c.Model, report.Number(c.Clip), report.Number(c.Eta0), report.Number(c.Beta),
				report.Fixed(c.Accuracy, 4), deviationText(c.SD, s.Seeds), strconv.Itoa(c.Diverged)})
		}
		w := ranking.Winner
		if w.Diverged == s.Seeds {
			p.Text("**Every run diverged.** Each combination was %s.", ranking.how)
		} else {
			norm := ""
			if clipped(all) {
				norm = fmt.Sprintf(", clipping norm %g", w.Clip)
			}
			p.Text("Best: **%s%s, step size %s**, with an accuracy of %.4f. Each combination was %s.", w.Model, norm, w.step, w.Accuracy,
				ranking.how)
		}
		if w.Command != "" {
			p.Text("To train the best combination completely, on all training records: `%s`", w.Command)
		}
		if !clipped(all) { // the list above has the norm
			heading = slices.Delete(heading, 1, 2)
			for i, row := range rows {
				rows[i] = slices.Delete(row, 1, 2)
			}
		}
		p.Table(heading, rows)
	}
	return p.String()
}

// why returns the beginning of the sentence in the README about what is searched. For the paper's
// data and inputs it mentions the paper's own search.
func (s SearchSpec) why() string {
	if !pool.Has(s.Train.Data) || s.Train.FeatureMap != "" {
		return "Each"
	}
	return "The paper mentions a grid search without its result. This search repeats it: each"
}

// heldOut returns text about the held-out records on which accuracies are computed.
func (s SearchSpec) heldOut() string {
	return fmt.Sprintf("a part of about %.4g of its records, picked by a hash of each (fold %d)", s.Train.Holdout,
		s.Train.Fold)
}

func diverged(trials []pool.Trial) int {
	n := 0
	for _, t := range trials {
		if t.Diverged {
			n++
		}
	}
	return n
}
