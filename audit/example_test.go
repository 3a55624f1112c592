package audit_test

import (
	"context"
	"fmt"

	"proactivedp/audit"
)

// Plant a fault, and see it found.
func Example() {
	o := audit.DefaultOptions()
	o.Runs, o.Fault = 100, audit.ReusedNoise
	report, err := audit.Run(context.Background(), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Fault, "found:", report.Violated)
	// Output: reused-noise found: true
}
