package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	// nearestVerb matches, in a format, the symbol of a bound before a verb that rounds
	// to the nearest number, which may be on the unsafe side of the bound.
	nearestVerb = regexp.MustCompile(`(ε|δ|σ|γ|θ|μ|ε_target)\s*(=|≤|≥|<|>|at least|at most|above|below|` +
		`of about)\s*%[-+ #0]*\d*\.\d+[efgEG]`)
	// boundName matches the names of bounds in an expression.
	boundName = regexp.MustCompile(`(?i)(epsilon|delta|sigma|noisemultiplier|theta)`)
)

// nearest are the functions that round to the nearest number.
var nearest = map[string]bool{"report.Number": true, "report.Fixed": true, "report.Percent": true}

// What is a bound is written by internal/decimal, which knows the safe side: no format
// and no call rounds one to the nearest number. That what is printed is on the safe side
// is tested where it is printed, in cmd/proactivedp.
func TestNoBoundIsRoundedToNearest(t *testing.T) {
	literals := 0
	for _, p := range packages(t) {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					literals++
				}
				if what := roundedBound(n); what != "" {
					t.Errorf("%s: %s rounds a bound to the nearest number: write it by internal/decimal",
						set.Position(n.Pos()), what)
				}
				return true
			})
		}
	}
	if literals < 3000 {
		t.Errorf("only %d texts were looked at", literals)
	}
}

// roundedBound returns what rounds a bound at a node, or "".
func roundedBound(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			text, _ := strconv.Unquote(n.Value)
			return nearestVerb.FindString(text)
		}
	case *ast.CallExpr:
		if nearest[types.ExprString(n.Fun)] && boundName.MatchString(types.ExprString(n.Args[0])) {
			return types.ExprString(n)
		}
	}
	return ""
}

func TestRoundedBoundsAreFound(t *testing.T) {
	for expr, found := range map[string]bool{
		`f("σ = %g, δ = %.4g", s, d)`: true, `f("at least ε ≥ %.3f", e)`: true, `f("ε_target = %.6g", e)`: true,
		`report.Number(planned.Delta)`: true, `report.Fixed(c.EpsilonUpper, 4)`: true,
		`f("δ = %s, C = %.4g", d, c)`: false, `f("δ = %g", d)`: false, `report.Number(c.Clip)`: false,
		`decimal.Up(c.Delta, 5)`: false,
	} {
		tree, err := parser.ParseExpr(expr)
		if err != nil {
			t.Fatal(err)
		}
		got := false
		ast.Inspect(tree, func(n ast.Node) bool {
			got = got || roundedBound(n) != ""
			return true
		})
		if got != found {
			t.Errorf("%s: found %v, want %v", expr, got, found)
		}
	}
}
