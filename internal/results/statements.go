// This file writes the page with every statement of the paper that can be checked, and a verdict on each. What
// figures and tables decide is computed from their data.

package results

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"proactivedp/internal/bounded"
	"proactivedp/internal/paper"
	"proactivedp/internal/report"
)

// These are verdicts on statements that no figure and no table of this program can confirm or refute.
const (
	Holds       Verdict = "holds"
	DoesNotHold Verdict = "does not hold"
	// Slip means a misprint or a contradiction in the paper. The rest of the paper shows what is meant.
	Slip Verdict = "slip"
)

// Statement is a statement of the paper that can be checked, with a verdict and the evidence for the
// verdict.
type Statement struct {
	At      string  // section, theorem, equation, table or figure, with its label in the paper
	Says    string  // the statement in words
	Verdict Verdict // "" if Claims or Tables decides
	Why     string
	Tests   string // what shows it: names of tests, such as dp.TestTheta, separated by spaces
	Claims  string // words in [paper.Claim.Where] of the claims about figures that are this statement
	Tables  string // labels of the paper's tables that are this statement, separated by spaces
}

// is reports whether the claim is this statement, or a part of it.
func (s Statement) is(c paper.Claim) bool {
	return s.Claims != "" && strings.Contains(c.Where, s.Claims)
}

const (
	// StatementsFile is the page of the statements in a folder of results.
	StatementsFile = "statements.md"
	tablesFolder   = "tables"
	tablesFile     = "tables.csv"
)

// HasStatements reports whether a folder with these findings and pages has what WriteStatements needs: all figures
// that the paper makes claims about, and its tables.
func HasStatements(findings []Finding, pages []string) bool {
	return len(findings) == len(paper.Claims()) && slices.Contains(pages, tablesFolder)
}

// WriteStatements writes the page of the paper's statements, as Markdown, for the folder dir. findings are those of
// its figures.
func WriteStatements(w io.Writer, dir string, findings []Finding) error {
	content, err := bounded.Within(dir, path.Join(tablesFolder, tablesFile), maxText)
	if err != nil {
		return err
	}
	cells, err := report.ParseRows(content)
	if err != nil {
		return fmt.Errorf("%s: %w", tablesFile, err)
	}
	var rows strings.Builder
	var errs []error
	count := map[Verdict]int{}
	unexplained := 0
	for i, s := range paperStatements {
		by := ""
		if s.Tests != "" {
			by = "`" + strings.ReplaceAll(s.Tests, " ", "`, `") + "`"
		}
		switch {
		case s.Claims != "":
			by, err = s.byFigures(findings)
		case s.Tables != "":
			by, err = s.byTables(cells)
		}
		if err != nil {
			errs = append(errs, err)
		}
		why := strings.Join(slices.DeleteFunc([]string{s.Why, by}, func(x string) bool { return x == "" }), "; ")
		if count[s.Verdict]++; s.Verdict == NotReproduced && strings.Contains(why, unknown) {
			unexplained++
		}
		fmt.Fprintf(&rows, "| %d | %s | %s | **%s** | %s |\n", i+1, s.At, s.Says, s.Verdict, why)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fails := count[NotReproduced] + count[DoesNotHold]
	_, err = fmt.Fprintf(w, "# The paper's statements\n\nThis page lists the %d statements of the paper that can be checked, in the paper's "+
		"order. **%d hold or are\nreproduced, %d do not hold or are not reproduced, %d are slips of the paper, and %d are undecided.** A reason is known "+
		"for\n%d of the %d statements that fail.\n\nA slip is a misprint or a contradiction in the paper; [Where this program "+
		"differs](../docs/differences.md) says what\nthe program does instead. In the last column, a name such as `dp.TestTheta` is a "+
		"test: `go test ./dp -run TestTheta`\nruns it.\n\nVerdicts on figures and tables are computed from their data, by [this rule](%s). "+
		"A statement about several figures is\nreproduced only if it is reproduced in all of them.\n\n"+
		"| | in the paper | it says | verdict | why, and what shows it |\n|---|---|---|---|---|\n%s", len(paperStatements),
		count[Holds]+count[Reproduced]+count[Exceeded], fails, count[Slip], count[Undecided], fails-unexplained, fails,
		PageFile, rows.String())
	return err
}

// byFigures sets s's verdict to the worst of its findings. It returns all of them, each with its reason.
func (s *Statement) byFigures(findings []Finding) (string, error) {
	order := []Verdict{Exceeded, Reproduced, Undecided, NotReproduced}
	var by []string
	worst := 0
	for _, f := range findings {
		if !s.is(f.Claim) {
			continue
		}
		at := slices.Index(order, f.Verdict)
		if at < 0 {
			return "", fmt.Errorf("%s: verdict = %q, must be one of %q", f.Says, f.Verdict, order)
		}
		worst = max(worst, at)
		one := fmt.Sprintf("[%[1]s](%[1]s): %s, %s", f.Figure, f.Ours, f.Verdict)
		if f.Why != "" {
			one += ", " + f.Why
		}
		by = append(by, one)
	}
	if by == nil {
		return "", fmt.Errorf("%s: no finding on %q", s.At, s.Claims)
	}
	s.Verdict = order[worst]
	return strings.Join(by, "; "), nil
}

// byTables sets s's verdict by those on the printed numbers of its tables, which are in cells. It returns how many
// numbers have which verdict.
func (s *Statement) byTables(cells []map[string]string) (string, error) {
	const follows, another, not, given = "reproduced", "reproduced by another procedure", "does not follow", "given"
	count, all := map[string]int{}, 0
	for _, c := range cells {
		if slices.Contains(strings.Fields(s.Tables), c["table"]) {
			count[c["verdict"]]++
			all++
		}
	}
	if sum := count[follows] + count[another] + count[not] + count[given]; all == 0 || sum != all {
		return "", fmt.Errorf("%s: %d numbers, and %d have a known verdict", s.Tables, all, sum)
	}
	s.Verdict = Reproduced
	switch {
	case count[not] > 0:
		s.Verdict, s.Why = NotReproduced, "[some rows are not what they say]("+tablesFolder+"/"+PageFile+
			"#rows-with-wrong-labels)"
	case count[another] > 0:
		s.Why = "partly by another procedure than the paper describes"
	}
	return fmt.Sprintf("[%s](%[1]s/%s): %d numbers: %d as described, %d by another procedure, %d not at all, %d inputs",
		tablesFolder, PageFile, all, count[follows], count[another], count[not], count[given]), nil
}
