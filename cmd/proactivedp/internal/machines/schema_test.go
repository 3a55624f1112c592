package machines

import (
	"testing"

	"proactivedp/cluster"
	"proactivedp/internal/testkit"
)

// docs/schema has the JSON schema of what each command prints with --json.
func TestSchemas(t *testing.T) {
	const folder = "../../../../docs/schema"
	testkit.CheckSchema(t, folder, "join", cluster.JoinReport{})
	testkit.CheckSchema(t, folder, "status", cluster.Status{})
}
