package audit

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused. If a constructor is needed, the error names it.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{Alarms, new(Course), new(Options), new(Report), new(Scores), new(ScoresOptions), new(ScoresReport), Do,
			DrawCanaries, ParseFault, ReadScores, Run},
		Given:    []any{gdp.Accountant{}},
		Unusable: map[string]string{"Report": "made by Run", "ScoresReport": "made by Scores.Audit"},
	}.Check(t)
}
