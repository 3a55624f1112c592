package synth_test

import (
	"fmt"

	"proactivedp/data/synth"
	"proactivedp/rng"
)

func Example() {
	d, err := synth.Make("synth-mnist:100", rng.New(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Len(), "images of", d.Shape(), "in", d.Classes, "classes, drawn:", d.Synthetic)
	// Output: 100 images of 1×28×28 pixels in 10 classes, drawn: true
}
