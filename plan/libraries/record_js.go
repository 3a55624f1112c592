package libraries

import (
	"fmt"

	"proactivedp/dp"
)

// writeRecord has no records here: the planner page must be small.
func writeRecord(f Format, _ Release) (Code, error) {
	return Code{}, fmt.Errorf("format %q is written by proactivedp plan and account, not in a browser: %w", f, dp.ErrNotCovered)
}
