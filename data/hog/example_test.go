package hog_test

import (
	"context"
	"fmt"

	"proactivedp/data/hog"
	"proactivedp/data/synth"
	"proactivedp/rng"
)

func Example() {
	digits := synth.Digits(rng.New(1), 70)
	features, err := hog.Map{Cell: 4, Bins: 8}.Apply(context.Background(), digits, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(digits.Shape(), "have", features.Shape())
	// Output: 1×28×28 pixels have 392 features
}
