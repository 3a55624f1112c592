package numpy_test

import (
	"fmt"
	"log"

	"proactivedp/data"
	"proactivedp/internal/numpy"
)

// An archive that np.savez("flowers.npz", x=sizes, y=kinds) has written, of four flowers.
func Example() {
	labels, err := data.ParseLabels("rose,tulip")
	if err != nil {
		log.Fatal(err)
	}
	d, err := numpy.ParseFile("testdata/flowers.npz", numpy.Options{Labels: labels})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Shape(), d.Label, d.Row(0).Value)
	// Output: 2 features [0 1 1 0] [5.1 3.5]
}
