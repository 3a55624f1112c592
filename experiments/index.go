package experiments

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/files"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
)

// indexFile lists the figures of a folder. Its first line distinguishes it from a file that somebody wrote.
const (
	indexFile = results.PageFile
	indexMark = "<!-- Written by proactivedp figures. -->\n"
	// statementsPage describes the page of the paper's statements, which has the same first line.
	statementsPage = "a page of the paper's statements"
)

// checkIndex refuses a folder whose README.md or page of statements this program did not write. It also refuses
// damaged manifests or data of figures that are not made again now, because the index would list them.
func checkIndex(dir string, figures []Figure) error {
	_, err := report.HoldsOurs(dir, indexFile, indexMark, "an index of figures")
	if err != nil {
		return err
	}
	if _, err = report.HoldsOurs(dir, results.StatementsFile, indexMark, statementsPage); err != nil {
		return err
	}
	if _, err = manifests(dir, figures, nil); err != nil {
		return err
	}
	var anew []string
	for _, f := range figures {
		anew = append(anew, f.Name)
	}
	if _, err = results.ReadFindings(dir, anew...); err != nil {
		return fmt.Errorf("%w; make the figure again, or remove it", err)
	}
	return nil
}

// manifests returns the manifests in dir, except for those of the figures in but, in the order of the registry and
// then of own. The error lists all damaged manifests.
func manifests(dir string, but, own []Figure) ([]Manifest, error) {
	var made []Manifest
	var errs []error
	for _, fig := range append(Figures(), own...) {
		if slices.ContainsFunc(but, func(f Figure) bool { return f.Name == fig.Name }) {
			continue
		}
		var m Manifest
		err := results.ReadManifest(dir, fig.Name, &m)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w; make its figure again, or remove it", err))
			continue
		}
		made = append(made, m)
	}
	return made, errors.Join(errs...)
}

func registered(f Figure) bool {
	return slices.ContainsFunc(Figures(), func(r Figure) bool { return r.Name == f.Name })
}

// groups are the parts of the index: the figures of the paper, and then those that it does not have.
// A figure is in the first group that has a pattern for its name.
var groups = []indexGroup{
	{"Figure 1: strongly convex, ridge logistic regression on phishing", "",
		[]string{"phishing-logreg-utility", "phishing-logreg-sample-size*", "phishing-logreg-epsilon"}},
	{"Figure 2: plain convex, logistic regression on phishing", "", []string{"phishing-logreg-plain-*"}},
	{"Figure 3: non-convex, LeNet on MNIST", "",
		[]string{"mnist-lenet-utility", "mnist-lenet-sample-size*", "mnist-lenet-epsilon", "mnist-lenet-step-size"}},
	{"Appendix: logistic regression on mushrooms", "",
		[]string{"mushrooms-logreg*-utility", "mushrooms-logreg*-sample-size*", "mushrooms-logreg*-epsilon"}},
	{"Appendix: AlexNet on CIFAR-10", "",
		[]string{"cifar10-alexnet-utility", "cifar10-alexnet-sample-size*", "cifar10-alexnet-epsilon"}},
	{"Why utility graphs differ from the paper's",
		"A utility graph shows how much accuracy a trained model w* keeps after noise is added to its parameters. The paper\n" +
			"does not say how it trained w*, so these figures train w* in several ways.\n",
		[]string{"*-wstar"}},
	{"Better settings at the same ε",
		"These figures compare the paper's settings with other settings, models and ways of drawing batches. All trainings that\n" +
			"are compared with each other have the same certified ε.\n",
		[]string{"*-equal-epsilon", "*-budget", "*-scatter", "*-sampling"}},
	{"The loop of plans and trainings",
		"The command `auto` plans and trains until each client has reached its target accuracy or has spent its budget. These\n" +
			"figures show its course for five clients. The strategy `tight` plans with the certified ε of the accountant pld, and the\n" +
			"strategy `paper` with a theorem of the paper, whose ε is usually larger.\n",
		[]string{"*-course*"}},
	{"Delay and stragglers",
		"In these figures, clients do not wait for each other. They may run ahead of the server by a number of rounds, the\n" +
			"permissible delay. Stragglers are rounds that take much longer than the others.\n",
		[]string{"*-delay", "*-stragglers*", "*-runners", "*-throughput", "*-staleness", "*-idle", "*-adaptive", "*-timeline"}},
	{"Other figures", "", []string{"*"}},
}

type indexGroup struct {
	title    string
	about    string   // what the figures show, in Markdown, with a final newline; "" if the title says enough
	patterns []string // of names of figures, as path.Match has them
}

// pageTexts describe pages that do not belong to a figure, by the name of the folder.
var pageTexts = map[string]string{
	"audit":                "lower bounds on ε, by attacks on trainings",
	"auto-against-plain":   "the command `auto`, compared with one training that spends the whole budget",
	"cifar10-twentieth":    "AlexNet on CIFAR-10 with a twentieth of the paper's gradients, for all batch sizes of the paper",
	"scale":                "processor time and memory of trainings, for different numbers of clients and sizes of the model",
	"search-cifar10":       "the search for the step size of AlexNet on CIFAR-10, with noise",
	"search-cifar10-plain": "the search for the step size of AlexNet on CIFAR-10, without noise",
	"search-mnist":         "the search for the step size of LeNet on MNIST, with noise",
	"search-mnist-plain":   "the search for the step size of LeNet on MNIST, without noise",
	"search-mnist-sqrt":    "the search for the step size of LeNet on MNIST, with noise, if step sizes decrease as in the paper",
	"tables":               "every number about privacy in the paper's tables, computed again",
}

func groupOf(figure string) int {
	return slices.IndexFunc(groups, func(g indexGroup) bool {
		return slices.ContainsFunc(g.patterns, func(pattern string) bool {
			match, _ := path.Match(pattern, figure)
			return match
		})
	})
}

// writeIndex lists every figure that has a manifest in dir, of the registry or just made.
func writeIndex(dir string, figures []Figure) error {
	made, err := manifests(dir, nil, slices.DeleteFunc(slices.Clone(figures), registered))
	if err != nil {
		return err
	}
	var names []string
	for _, m := range made {
		names = append(names, m.Figure)
	}
	pictures, pages, err := results.Beside(dir, names)
	if err != nil {
		return err
	}
	findings, err := results.ReadFindings(dir)
	if err != nil {
		return err
	}
	statements := results.HasStatements(findings, pages)
	if err := writeStatements(dir, statements, findings); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(indexMark + "# Results\n\n")
	if statements {
		text.WriteString("This page compares the figures of this program with those of the paper *Proactive DP*\n" +
			"([how to reproduce it](../docs/paper.md)). [Statements](" + results.StatementsFile + ") has a verdict on every\n" +
			"statement of the paper, also on those about its theorems and tables.\n\n")
	}
	writeSummary(&text, findings, slices.Contains(pages, "tables"))
	for i, g := range groups {
		inGroup := slices.DeleteFunc(slices.Clone(made), func(m Manifest) bool { return groupOf(m.Figure) != i })
		if len(inGroup) == 0 {
			continue
		}
		writeGroup(&text, g, inGroup, findings)
		if err := writeBudgets(&text, dir, inGroup); err != nil {
			return err
		}
	}
	writeBesides(&text, pictures, pages)
	return files.Write(filepath.Join(dir, indexFile), files.Text(text.String()))
}

// writeStatements writes the page of the paper's statements if the folder has what it needs. Otherwise it removes an
// earlier page, which would be of figures that are no longer there.
func writeStatements(dir string, has bool, findings []results.Finding) error {
	there, err := report.HoldsOurs(dir, results.StatementsFile, indexMark, statementsPage)
	name := filepath.Join(dir, results.StatementsFile)
	switch {
	case err != nil:
		return err
	case has:
		return files.Write(name, func(w io.Writer) error {
			_, err := io.WriteString(w, indexMark)
			return errors.Join(err, results.WriteStatements(w, dir, findings))
		})
	case there:
		return os.Remove(name)
	}
	return nil
}

// writeSummary writes how many of the paper's statements hold, and which do not.
func writeSummary(text *strings.Builder, findings []results.Finding, tables bool) {
	count := map[results.Verdict]int{}
	var open []results.Finding
	for _, f := range findings {
		switch f.Verdict {
		case results.NotReproduced, results.Undecided:
			count[f.Verdict]++
			open = append(open, f)
		default:
			count[results.Reproduced]++
		}
	}
	if len(findings) == 0 {
		text.WriteString("The paper's text states nothing about these figures.\n")
	} else {
		fmt.Fprintf(text, "The paper's text makes %d statements about the figures on this page. **%d are reproduced, %d are not\n"+
			"reproduced, and %d are undecided.**", len(findings), count[results.Reproduced], count[results.NotReproduced],
			count[results.Undecided])
		if tables {
			text.WriteString(" The numbers in the paper's tables have [a separate page](tables/" + indexFile + ").")
		}
		text.WriteString("\n")
	}
	if len(open) > 0 {
		text.WriteString("\nThe next table lists the statements that are not reproduced or undecided. σ is the noise multiplier, C the clipping\n" +
			"norm, s the batch size, and η₀ the step size. w* is a model that was trained without noise. A statement that C *keeps*\n" +
			"90 % up to some σ means: after noise of standard deviation σC is added to its parameters, w* still has 90 % of its\n" +
			"accuracy.\n" +
			"\n| figure | the paper | here | verdict | why |\n|---|---|---|---|---|\n")
		for _, f := range open {
			fmt.Fprintf(text, "| [%[1]s](%[1]s) | %s | %s | %s | %s |\n", f.Figure, f.Says, f.Ours, f.Verdict, f.Why)
		}
	}
	text.WriteString("\nEach figure is a folder with a picture, the data of the picture (`data.csv`), and its settings (`manifest.json`), such\n" +
		"as accountant, adjacency, sampling and δ. On this page, an accuracy is the mean over seeds ± one standard deviation.\n" +
		"In the tables below, ε is for one record, and certified: the true ε is proved to be at most this number. If a\n" +
		"statement compares several trainings, the table shows their largest ε.\n")
	if len(findings) > 0 {
		text.WriteString("\n" + results.Rule + "\n")
	}
}

// writeGroup writes a list of figures, with the paper's statements about them.
func writeGroup(text *strings.Builder, group indexGroup, made []Manifest, findings []results.Finding) {
	text.WriteString("\n## " + group.title + "\n")
	if group.about != "" {
		text.WriteString("\n" + group.about)
	}
	text.WriteString("\n| | figure | shows | the paper | data | command | files |\n" +
		"|---|---|---|---|---|---|---|\n")
	var rows strings.Builder
	for _, m := range made {
		count := map[results.Verdict]int{}
		for _, f := range findings {
			if f.Figure != m.Figure {
				continue
			}
			count[f.Verdict]++
			epsilon := f.Epsilon
			if epsilon == "" {
				epsilon = "–"
			}
			why := "" // that of the others is in the summary
			if f.Verdict == results.Reproduced && f.Why != "" {
				why = ", " + f.Why
			}
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | **%s**%s |\n", f.Figure, f.Says, f.Ours, epsilon, f.Verdict, why)
		}
		var verdicts []string
		for _, v := range []results.Verdict{results.Reproduced, results.Exceeded, results.NotReproduced, results.Undecided} {
			if count[v] > 0 {
				verdicts = append(verdicts, fmt.Sprintf("%d %s", count[v], v))
			}
		}
		row := results.Entry{Folder: m.Figure, Title: paper.Titled(m.Figure, m.Title), Command: m.Command, Data: results.Sets{m.Data},
			Scale: m.Scale, Runner: m.Runner, Files: m.Files}
		text.WriteString(row.Row(strings.Join(verdicts, ", ")))
	}
	if rows.Len() > 0 {
		text.WriteString("\n| figure | the paper | here | ε | verdict |\n|---|---|---|---|---|\n" + rows.String())
	}
}

// boughtEpsilons are the columns of the table of writeBudgets: ε of the figures and of published results.
var boughtEpsilons = []float64{0.1, 0.5, 1, 2, publishedEpsilon, 4, 8}

// writeBudgets writes a table of what the trainings of the figures *-budget and *-scatter reach within some ε, next to
// published results. In the latter, all trainings at these ε have the δ of the published results.
func writeBudgets(text *strings.Builder, dir string, made []Manifest) error {
	var rows strings.Builder
	for _, m := range made {
		budget := strings.HasSuffix(m.Figure, "-budget")
		if !budget && !strings.HasSuffix(m.Figure, "-scatter") {
			continue
		}
		k, err := readStored(dir, m.Figure)
		if err != nil {
			return err
		}
		all, err := storedPriced(k)
		if err != nil {
			return err
		}
		lines := linesOver(all, (*priced).epsilon)
		if !budget {
			for i := range lines {
				lines[i].Name = fmt.Sprintf("%sδ = %g, on the %s", scatterSeries, publishedDelta, lines[i].Name)
			}
		} else if !m.Data.Synthetic {
			lines = append(lines, publishedLines(publishedResults[m.Data.Name])...)
		}
		for _, l := range lines {
			cells, some := "", false
			for _, epsilon := range boughtEpsilons {
				cell := ""
				for i, x := range l.X {
					if x > 0.999*epsilon && x < 1.001*epsilon {
						cell, some = report.Fixed(100*l.Y[i], 1), true
					}
				}
				cells += " " + cell + " |"
			}
			if some {
				fmt.Fprintf(&rows, "| %s | %s |%s\n", m.Data.Name, strings.ReplaceAll(l.Name, "\n", " "), cells)
			}
		}
	}
	if rows.Len() == 0 {
		return nil
	}
	text.WriteString("\nThe next table shows the test accuracy in percent that trainings reach for each ε. It summarises the figures whose names\n" +
		"end with `-budget` or `-scatter`. ε is certified for Poisson samples, at δ = 1/N if the name of the training has no δ.\n" +
		"`softmax` is softmax regression, on histograms of oriented gradients (`--features hog:4:8`) or on scattering features\n" +
		"(`--features scatter`). For rows with *steps chosen by budget*, a search chose the step size for each ε. For rows with\n" +
		"*usual step*, it is the step size that `train` takes by default, which is smaller if there is more noise.\n")
	if strings.Contains(rows.String(), publishedSeries) {
		fmt.Fprintf(text, "\nRows that begin with *published* have results of other authors (%[2]s;\n%[3]s), at δ = %[1]g and without additional training data, on all test images. "+
			"Their\nprograms shuffle the records, but compute ε for Poisson samples, so their true ε can be larger.\n", publishedDelta, handcrafted, unlocking)
	}
	text.WriteString("\n| data | training |")
	for _, epsilon := range boughtEpsilons {
		fmt.Fprintf(text, " ε = %g |", epsilon)
	}
	text.WriteString("\n|" + strings.Repeat("---|", 2+len(boughtEpsilons)) + "\n" + rows.String())
	return nil
}

// writeBesides lists the pictures and pages in the folder that do not belong to a figure.
func writeBesides(text *strings.Builder, pictures []results.Entry, pages []string) {
	if len(pictures) > 0 {
		text.WriteString("\n## Made by other commands\n\nThese figures were made by the commands `propose`, `utility` and `train`, or by `figures --data` from a user's file." +
			"\n\n| | folder | shows | data | command | files |\n|---|---|---|---|---|---|\n")
		for _, e := range pictures {
			text.WriteString(e.Row())
		}
	}
	if len(pages) > 0 {
		text.WriteString("\n## Pages\n\nEach of these results has its own page:\n\n")
		for _, name := range pages {
			fmt.Fprintf(text, "- [%[1]s](%[1]s/%[2]s)", name, indexFile)
			if about := pageTexts[name]; about != "" {
				text.WriteString(": " + about)
			}
			text.WriteString("\n")
		}
	}
}
