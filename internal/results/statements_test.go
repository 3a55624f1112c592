package results

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/paper"
)

// The committed page of statements is what the committed figures and tables give. `proactivedp figures --out results
// --redraw NAME` writes it anew.
func TestCommittedStatements(t *testing.T) {
	findings, err := committedFindings()
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	page.WriteString(OurMark + "figures. -->\n")
	if err := WriteStatements(&page, "../../results", findings); err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("../../results/" + StatementsFile)
	if err != nil || !bytes.Equal(page.Bytes(), committed) {
		t.Errorf("results/%s is not up to date (%v)", StatementsFile, err)
	}
	// A figure that is not there is an error, and so is an unknown verdict in a table.
	if err := WriteStatements(&page, "../../results", findings[1:]); err != nil {
		t.Errorf("one of several findings on a statement is missing: %v", err)
	}
	if err := WriteStatements(&page, "../../results", nil); err == nil || !strings.Contains(err.Error(), "no finding") {
		t.Errorf("without findings: %v", err)
	}
	if HasStatements(findings[1:], []string{"tables"}) || HasStatements(findings, nil) ||
		!HasStatements(findings, []string{"tables"}) {
		t.Error("HasStatements does not ask for all findings and the tables")
	}
}

// A statement has a verdict of its own or one that is computed, what fails has a reason, and what was decided has a
// test that exists. Each claim about a figure is a part of exactly one statement.
func TestStatementsHaveEvidence(t *testing.T) {
	tests := map[string]map[string]bool{} // of each package
	says := map[string]bool{}
	for _, s := range paperStatements {
		if says[s.Says+s.At] {
			t.Errorf("%s: %s: listed twice", s.At, s.Says)
		}
		says[s.Says+s.At] = true
		if computed := (s.Claims != "") != (s.Tables != ""); computed == (s.Verdict != "") {
			t.Errorf("%s: %s: must have either a verdict, claims or tables", s.At, s.Says)
		}
		if s.Why == "" && s.Verdict != "" && s.Verdict != Holds {
			t.Errorf("%s: %s: no reason", s.At, s.Says)
		}
		if s.Tests == "" && (s.Verdict == Holds || s.Verdict == DoesNotHold) {
			t.Errorf("%s: %s: no test", s.At, s.Says)
		}
		if strings.Contains(s.At+s.Says+s.Why, "|") {
			t.Errorf("%s: %s: a bar ends a cell", s.At, s.Says)
		}
		for _, name := range strings.Fields(s.Tests) {
			folder, test, _ := strings.Cut(name, ".")
			if tests[folder] == nil {
				tests[folder] = testsOf(t, "../../"+folder)
			}
			if !tests[folder][test] {
				t.Errorf("%s: %s: package %s has no %s", s.At, s.Says, folder, test)
			}
		}
		if s.Claims != "" && !slices.ContainsFunc(paper.Claims(), s.is) {
			t.Errorf("%s: no claim at %q", s.At, s.Claims)
		}
	}
	for _, c := range paper.Claims() {
		n := 0
		for _, s := range paperStatements {
			if s.is(c) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %s: a part of %d statements, must be 1", c.Figure, c.Says, n)
		}
	}
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// Verdicts are the worst of several.
func TestVerdictOfSeveralFigures(t *testing.T) {
	finding := func(v Verdict) Finding {
		return Finding{Claim: paper.Claim{Figure: "f", Where: "here"}, Ours: "1", Verdict: v, Why: "of " + string(v)}
	}
	for _, c := range []struct {
		all  []Verdict
		want Verdict
	}{
		{[]Verdict{Exceeded}, Exceeded},
		{[]Verdict{Exceeded, Reproduced}, Reproduced},
		{[]Verdict{NotReproduced, Undecided, Reproduced}, NotReproduced},
		{[]Verdict{Reproduced, Undecided, Exceeded}, Undecided},
	} {
		s := Statement{Claims: "here"}
		var all []Finding
		for _, v := range c.all {
			all = append(all, finding(v))
		}
		by, err := s.byFigures(all)
		if err != nil || s.Verdict != c.want || strings.Count(by, "of ") != len(all) {
			t.Errorf("%v: %s by %q, error %v; want %s", c.all, s.Verdict, by, err, c.want)
		}
	}
	s := Statement{Claims: "here"}
	if _, err := s.byFigures([]Finding{finding("unheard of")}); err == nil {
		t.Error("an unknown verdict is accepted")
	}
	row := func(verdict string) map[string]string { return map[string]string{"table": "t", "verdict": verdict} }
	for verdict, want := range map[string]Verdict{"given": Reproduced, "reproduced by another procedure": Reproduced,
		"does not follow": NotReproduced} {
		s := Statement{Tables: "t"}
		if _, err := s.byTables([]map[string]string{row("reproduced"), row(verdict)}); err != nil || s.Verdict != want {
			t.Errorf("%s: %s, error %v", verdict, s.Verdict, err)
		}
	}
	s = Statement{Tables: "t"}
	for _, cells := range [][]map[string]string{nil, {row("unheard of")}} {
		if _, err := s.byTables(cells); err == nil {
			t.Errorf("%v are accepted", cells)
		}
	}
}

// What the paper says about trends holds in the committed figures. In utility graphs, a smaller C tolerates at least
// as much σ. From the smallest ε to the next, the accuracy rises. A larger sample has fewer rounds; at one certified
// ε, all sizes end within 0.012.
func TestCommittedTrends(t *testing.T) {
	figures := func(pattern string) (all []*table) {
		paths, err := filepath.Glob("../../results/" + pattern)
		if err != nil || len(paths) < 5 {
			t.Fatalf("%s: %d figures, error %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			one, err := readTable("../../results", filepath.Base(path))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		return all
	}
	for _, one := range figures("*-utility") {
		var clips []float64
		for _, row := range one.rows {
			clips = append(clips, paper.Number(row["clip"]).Value())
		}
		slices.Sort(clips)
		clips = slices.Compact(clips)
		var most []float64
		for _, clip := range clips {
			at, err := one.fractions(clip)
			if err != nil {
				t.Fatal(err)
			}
			sigma, _ := at.most(0.9)
			most = append(most, sigma)
		}
		if !slices.IsSortedFunc(most, func(a, b float64) int { return cmp.Compare(b, a) }) || len(most) < 3 {
			t.Errorf("%s: C = %v keep 0.9 up to σ = %v", one.figure, clips, most)
		}
	}
	for _, one := range figures("*-epsilon") {
		if strings.HasSuffix(one.figure, "-equal-epsilon") {
			continue // of other settings than the paper's
		}
		all, err := one.ends()
		if err != nil {
			t.Fatal(err)
		}
		all = slices.DeleteFunc(all, func(s series) bool { return s.stated == "" })
		slices.SortFunc(all, func(a, b series) int {
			return cmp.Compare(paper.Number(a.stated).Value(), paper.Number(b.stated).Value())
		})
		if len(all) < 6 || !(all[1].mean > all[0].mean) {
			t.Errorf("%s: %d ε, %v", one.figure, len(all), all)
		}
	}
	for _, one := range figures("*-sample-size-equal") {
		least, most, _, err := one.sizesAtOneEpsilon()
		if err != nil || most-least > 0.012 {
			t.Errorf("%s: sizes end between %v and %v, error %v", one.figure, least, most, err)
		}
		rounds := map[float64]float64{}
		for _, row := range one.rows {
			rounds[paper.Number(row["sample_size"]).Value()] = paper.Number(row["rounds"]).Value()
		}
		for s, n := range rounds {
			for larger, m := range rounds {
				if larger > s && m >= n {
					t.Errorf("%s: %v rounds at s = %v, %v at %v", one.figure, n, s, m, larger)
				}
			}
		}
	}
}
