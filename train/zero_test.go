package train

import (
	"testing"

	"proactivedp/dp/gdp"
	"proactivedp/internal/testkit"
)

// Zero values are refused, and where a constructor is needed it is named.
func TestZeroValues(t *testing.T) {
	testkit.Package{
		Exported: []any{
			new(Checkpoint), new(Forecast), new(Inputs), new(Keep), new(Prepared), new(Report), new(Saved),
			new(Setting), new(Source), new(Spec), new(Trace), CheckKeep, OpenCheckpoint,
			OpenModel, ParseFeatures, ReadSetting, new(ClassMetrics), ClassMetricsOf, CheckExport, LeastNoise,
		},
		Given: []any{gdp.Accountant{}},
		Unusable: map[string]string{
			"Source": "NewSource", "Prepared": "Source.Prepare", "Checkpoint": "OpenCheckpoint",
			"Trace": "NewTrace", "Setting": "ReadSetting",
		},
	}.Check(t)
}
