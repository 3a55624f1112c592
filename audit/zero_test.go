package audit

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{Alarms, new(Course), new(Options), new(Report), new(Scores), new(ScoresOptions), new(ScoresReport), Do,
			DrawCanaries, ParseFault, ReadScores, Run},
		Given:    []any{gdp.Accountant{}},
		Unusable: map[string]string{"Report": "made by Run", "ScoresReport": "made by Scores.Audit"},
	}.Check(t)
}
