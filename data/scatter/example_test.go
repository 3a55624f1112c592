package scatter_test

import (
	"context"
	"fmt"

	"proactivedp/data/scatter"
	"proactivedp/data/synth"
	"proactivedp/rng"
)

func Example() {
	objects := synth.Objects(rng.New(1), 60)
	features, err := scatter.Map{}.Apply(context.Background(), objects, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	recipe, err := scatter.Map{}.For(objects)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects.Shape(), "have", features.Shape(), "by", recipe)
	// Output: 3×32×32 pixels have 7776 features by scatter:colour=opponent:root=yes:fold=yes:ridge=0.4
}
