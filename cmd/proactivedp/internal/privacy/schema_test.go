package privacy

import (
	"testing"

	"proactivedp/answer"
	"proactivedp/audit"
	"proactivedp/internal/testkit"
)

// docs/schema has the JSON schema of what each command prints with --json.
func TestSchemas(t *testing.T) {
	const folder = "../../../../docs/schema"
	testkit.CheckSchema(t, folder, "plan", answer.Plan{}, nextLeg{})
	testkit.CheckSchema(t, folder, "account", []answer.Accounting{})
	testkit.CheckSchema(t, folder, "calibrate", answer.Calibration{})
	testkit.CheckSchema(t, folder, "tradeoff", answer.Tradeoff{})
	testkit.CheckSchema(t, folder, "audit", audit.Report{}, audit.ScoresReport{})
}
