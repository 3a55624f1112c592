package papertables

import (
	"fmt"
	"strconv"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// readme returns the page that summarises the tables. Every number in it is computed.
func (a *audit) readme() report.Page {
	var p report.Page
	p.Title("The numbers in the paper's tables")
	p.Text("This page recomputes every number about privacy in the paper's tables of parameters, budgets and comparisons. " +
		"The command `proactivedp tables` writes it. Nothing here depends on data or chance.")
	p.Items([]string{
		fmt.Sprintf("[%s](%[1]s), [%s](%[2]s): each printed number with the procedure that gives it, the results of "+
			"the theorem and of the accountant %s, and a verdict.", listFile, tablesFile, a.accountant),
		fmt.Sprintf("[%s](%[1]s) and the pictures below: ε for each batch size s.", curvesFile),
	})
	p.Text("ε is always for one record of one client with N records, at δ = 1/N, for all rounds of the client, "+
		"with Poisson sampling. The theorem is the paper's Theorem simpleF, an upper bound for add-or-remove adjacency. "+
		"Numbers by the accountant %s are the upper ends of its intervals, rounded up; the lower ends are in the CSV files.",
		a.accountant)
	p.Text("Symbols: s is the batch size, T the number of rounds, K the number of gradients of the client, k = K/N, σ the noise " +
		"multiplier, γ a constant of the theorem, and L = ln(1/δ).")
	a.summary(&p)
	a.unsettledGamma(&p)
	a.gammaError(&p)
	a.missingEpsilon(&p)
	a.wrongLabels(&p)
	a.asymptoticColumn(&p)
	a.tightness(&p)
	a.looseness(&p)
	a.adjacency(&p)
	p.Section("What the tables do not include")
	p.Items([]string{
		"Accuracies. No ε on this page includes the cost of choosing C, σ, K and step sizes by accuracies.",
		"Data sets of other sizes. The guarantee for N = 10000 does not hold for a client with fewer records.",
		"Several clients. A record that several clients hold pays for the rounds of all of them.",
	})
	return p
}

func (a *audit) summary(p *report.Page) {
	count := map[verdict]int{}
	total := 0
	for _, t := range a.tables {
		for _, c := range t.cells {
			count[c.verdict]++
			total++
		}
	}
	p.Section("In short")
	p.Text("The paper prints %d numbers about privacy in its tables. %d are %s as the paper describes it, %d are %s, %d %s, and %d are %s, because "+
		"the others were computed from them.",
		total, count[reproduced], reproduced, count[byAnother], byAnother, count[unsupported], "do not follow",
		count[given], given)
}

func (a *audit) unsettledGamma(p *report.Page) {
	p.Section("γ was not iterated to the end")
	p.Text("The paper computes γ by a loop. It begins with γ = 2, replaces γ by the right-hand side of the equation for γ, and stops " +
		"when γ_new − γ ≤ 0.0001γ. This test lacks an absolute value. The right-hand side decreases as γ grows, so the first " +
		"update is larger than the solution, and the second is smaller. Then γ_new − γ is negative, and the loop stops with the first " +
		"update, which is too large. The resulting batch sizes are smaller than necessary, but not wrong.")
	var rows [][]string
	for _, f := range a.findings {
		rows = append(rows, []string{strconv.Itoa(f.N), fmt.Sprintf("%g", f.sigma), decimal.Up(f.run.epsilon, 5),
			report.Fixed(f.run.gamma, 4), report.Fixed(f.run.gammaNext, 4), decimal.FixedUp(f.limits[0].Gamma, 5),
			report.Fixed(f.run.size, 2), decimal.FixedDown(f.limits[0].SMax, 2)})
	}
	p.Table([]string{"N", "σ", "ε = 2L/(σ²−2)", "γ kept", "next γ", "γ of the theorem", "s as run",
		"s of the theorem"}, rows)
}

func (a *audit) gammaError(p *report.Page) {
	p.Section("γ has an algebra error")
	p.Text("In the proof of the theorem, substituting r₀ = ασ into 1/(1−u₀) gives (1−α)/(1−α−2√α). The paper prints (1−√α)² instead of " +
		"1−α−2√α. The program uses the corrected γ, which also requires ᾱ = ε/(γk) < 3−2√2.")
	var rows [][]string
	for _, f := range a.findings {
		printed, corrected := f.limits[0], f.limits[1]
		rows = append(rows, []string{strconv.Itoa(f.N), decimal.FixedUp(printed.Gamma, 5),
			decimal.FixedUp(corrected.Gamma, 5),
			report.Percent(corrected.Gamma/printed.Gamma - 1), decimal.FixedDown(printed.SMax, 2),
			decimal.FixedDown(corrected.SMax, 2)})
	}
	p.Table([]string{"N", "γ, printed form", "γ, corrected", "larger by", "s, printed form", "s, corrected"}, rows)
}

func (a *audit) missingEpsilon(p *report.Page) {
	p.Section("The budgets' σ lacks “+ε”")
	p.Text("The theorem requires σ ≥ √(2(ε+L)/ε). The paper prints σ = √(2L/ε), after one update of γ. So the printed σ are " +
		"too small for the ε next to them. The paper truncates ε and σ after five decimals. The last column is the ε " +
		"that the theorem, with the corrected γ, proves for the printed σ and s. If a row has more noise than needed, " +
		"the paper labels it with too large an ε: see the next section.")
	var rows [][]string
	for _, t := range a.tables {
		for i, c := range t.cells {
			if c.quantity != quantitySigma || c.row == "" {
				continue
			}
			eps := t.cells[i-1]
			needed := c.answers[len(forms)-1].value
			rows = append(rows, []string{c.table, string(eps.printed), string(c.printed), needed,
				eps.answers[len(forms)-1].value})
		}
	}
	p.Table([]string{"table", "ε printed", "σ printed", "σ needed for that ε", "ε of the theorem at that σ and s"},
		rows)
}

func (a *audit) wrongLabels(p *report.Page) {
	p.Section("Rows with wrong labels")
	p.Text("The column “computed” has the numbers that follow from the printed s, by the procedure that gives the other rows of the same table. " +
		"The paper prints other numbers. (The δ printed for N = 60000 is 1/60000 rounded up; here it is exactly 1/N.)")
	var rows [][]string
	for _, t := range a.tables {
		for _, c := range t.cells {
			if c.verdict == unsupported {
				rows = append(rows, []string{c.table, c.row, c.quantity, string(c.printed), c.computed})
			}
		}
	}
	p.Table([]string{"table", "row", "", "printed", "computed"}, rows)
}

func (a *audit) asymptoticColumn(p *report.Page) {
	p.Section("ε_f-DP in the column T_min_asym belongs to another T")
	p.Text("The paper's column T_min_asym is for T = k²/(2ε) rounds, and its s belongs to this T. But its ε_f-DP belongs to k²/(4ε), half " +
		"as many rounds. ε_f-DP is an approximation by the central limit theorem for uniform sampling, " +
		"at real-valued s and T.")
	var rows [][]string
	for _, f := range a.findings {
		rows = append(rows, []string{strconv.Itoa(f.N), decimal.Up(f.run.epsilon, 5), string(f.Comparison.Asym.FDP),
			report.Fixed(f.run.fdpQuarter, 4), report.Fixed(f.run.fdpAsym, 4),
			compared(f.run.fdpAsym, f.run.fdpAsym, f.run.epsilon)})
	}
	p.Table([]string{"N", "ε_target", "ε_f-DP printed", "at k²/(4ε)", "at k²/(2ε)", "result"}, rows)
}

func (a *audit) tightness(p *report.Page) {
	p.Section("How tight the theorem is")
	p.Text("From its column T_min_asym, the paper concludes that ε_target cannot be achieved at T = k²/(2ε), and that its "+
		"formula is tight up to a factor 2γ. The table has the ε by %s for ⌊T⌋ rounds with all K gradients:", a.accountant)
	var rows [][]string
	for _, f := range a.findings {
		for _, t := range f.asym {
			row := []string{strconv.Itoa(f.N), decimal.Up(f.run.epsilon, 5), fmt.Sprintf("k²/(%dε)", t.divisor),
				strconv.Itoa(t.rounds)}
			for _, b := range t.bounds {
				row = append(row, interval(b).value, comparedBound(b, f.run.epsilon))
			}
			rows = append(rows, row)
		}
	}
	header := []string{"N", "ε_target", "T", "rounds"}
	for _, adjacency := range adjacencies {
		header = append(header, string(adjacency), "result")
	}
	p.Table(header, rows)
	p.Text("The next table has the least T that is certified for ε_target, as c in T = c·k²/ε. Every smaller s is " +
		"certified, too. A c below 1/2 means less than k²/(2ε) rounds:")
	rows = nil
	for _, f := range a.findings {
		row := []string{strconv.Itoa(f.N), decimal.FixedUp(f.limits[1].Gamma, 3)}
		for _, answer := range f.largest[len(forms):] {
			row = append(row, answer.value, f.leastC(answer))
		}
		rows = append(rows, row)
	}
	header = []string{"N", "c of the theorem: γ"}
	for _, adjacency := range adjacencies {
		header = append(header, "s, "+string(adjacency), "c")
	}
	p.Table(header, rows)
}

// leastC returns c in T = K/s = c·k²/ε, as text, for the size s.
func (f *finding) leastC(size answer) string {
	s, err := strconv.Atoi(size.value)
	if err != nil {
		return report.NoAnswer
	}
	return decimal.FixedUp(float64(f.GradComps)/float64(s)*f.run.epsilon/(f.Epochs()*f.Epochs()), 3)
}

func (a *audit) looseness(p *report.Page) {
	p.Section("How loose the closed form is")
	p.Text("The table has runs that the closed form (the theorem) allows for ε_target. The column ε has their cost by %s "+
		"under add-or-remove adjacency, and the last column the σ that their batch size needs for ε_target.", a.accountant)
	var rows [][]string
	for _, f := range a.findings {
		for _, r := range []struct {
			size  int
			bound *dp.Bound
			least string
		}{{int(f.run.size), f.asRun[0], report.NoAnswer}, {f.size(), f.exact[0], f.least[len(forms)].value}} {
			rows = append(rows, []string{strconv.Itoa(f.N), fmt.Sprintf("%g", f.sigma), strconv.Itoa(r.size),
				decimal.Up(f.run.epsilon, 5),
				interval(r.bound).value, factor(f.run.epsilon, r.bound), r.least})
		}
	}
	p.Table([]string{"N", "σ", "s", "ε_target", "ε", "ε_target/ε", "σ needed"}, rows)
	for _, c := range a.curves {
		p.Text("![ε over s, N = %d](%s)", c.N, curvePicture(c.Case))
	}
}

func (a *audit) adjacency(p *report.Page) {
	p.Section("The adjacency matters")
	p.Text("The theorem holds if one neighbouring data set has one record more than the other (add-or-remove). " +
		"If a record is replaced instead, a run can cost more than the theorem's ε. The table has such runs, " +
		"with the number of rounds that the theorem requires with the printed and with the corrected γ:")
	var rows [][]string
	for _, e := range a.replaceOne {
		main := "not met"
		if e.main {
			main = "met"
		}
		row := []string{string(e.form), strconv.Itoa(e.n), fmt.Sprintf("%g", e.epochs), decimal.Up(e.sigma, 6),
			strconv.Itoa(e.rounds), fmt.Sprintf("%g", e.epsilon), main}
		for _, b := range e.bounds {
			row = append(row, interval(b).value, comparedBound(b, e.epsilon))
		}
		rows = append(rows, row)
	}
	header := []string{"γ", "N", "k", "σ", "T", "ε of the theorem", "Theorem Main's conditions"}
	for _, adjacency := range adjacencies {
		header = append(header, string(adjacency), "result")
	}
	p.Table(header, rows)
	p.Text("The next table has the ε of the paper's own settings under replace-one adjacency, at the largest integer s that the corrected γ allows:")
	rows = nil
	for _, f := range a.findings {
		rows = append(rows, []string{strconv.Itoa(f.N), strconv.Itoa(f.size()), decimal.Up(f.run.epsilon, 5),
			interval(f.exact[1]).value, comparedBound(f.exact[1], f.run.epsilon)})
	}
	p.Table([]string{"N", "s", "ε_target", "replace-one", "result"}, rows)
}

// columns adds a list to p that explains the columns of the tables.
func columns(p *report.Page, accountant string) {
	p.Items([]string{
		"*computed, by*: the value by the first procedure that gives the printed digits, rounded or truncated. (Batch sizes are " +
			"truncated; a round ε such as 0.25 may differ by 1 %.) If no procedure gives them, the columns have the usual " +
			"procedure for the table. “From s” is the paper's “DP Calculator”, “from σ” is the calculator in its section " +
			"“Comparison to the f-DP Accountant”, and the signed loop is the paper's iteration of γ.",
		fmt.Sprintf("*theorem*: Theorem simpleF solved exactly. *%s*: the accountant's certified value for Poisson sampling, T = ⌊K/s⌋ "+
			"rounds and δ = 1/N.", accountant),
		"The columns of theorem and accountant show, in a row of **ε** (also ε_target and ε_f-DP), the ε of the printed σ and s. In a " +
			"row of **σ** they show the least noise multiplier for the printed s and ε. In a row of **s** they show the largest batch " +
			"size for the printed ε: for the theorem, with the σ that it requires for this ε; for the accountant, with the printed σ. " +
			"The accountant certifies every smaller batch size, too.",
		fmt.Sprintf("*verdict*: %s (as the paper describes it), %s, %s, or %s (the other numbers of the row are computed "+
			"from it).", reproduced, byAnother, unsupported, given),
	})
}

// compared returns text which says whether a number that lies between lower and upper is within the
// target.
func compared(lower, upper, target float64) string {
	switch {
	case upper <= target:
		return "within ε_target"
	case lower > target:
		return "**above** ε_target"
	}
	return "undecided"
}

func comparedBound(b *dp.Bound, target float64) string {
	if b == nil {
		return report.NoAnswer
	}
	return compared(b.EpsilonLower, b.EpsilonUpper, target)
}
