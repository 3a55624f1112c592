package picture_test

import (
	"bytes"
	"fmt"
	"log"

	"proactivedp/plan"
	"proactivedp/plan/picture"
)

// A frontier as plan.Plan.Frontier returns it, as a PNG.
func ExampleFrontier() {
	three, eight := 3.0, 8.0
	f := &plan.Frontier{N: 10_000, Epochs: 5, Theta: 1, Epsilon: 0.05, Delta: 1e-4, Accountant: "pld", Rows: []plan.Row{
		{SampleSize: 10, Rounds: 5000, AddOrRemove: &three}, {SampleSize: 100, Rounds: 500, AddOrRemove: &eight},
	}}
	var png bytes.Buffer
	if err := picture.Frontier(&png, f); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", png.Bytes()[1:4])
	// Output: "PNG"
}
