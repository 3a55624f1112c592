package logreg_test

import (
	"fmt"

	"proactivedp/models/logreg"
)

func Example() {
	model, err := logreg.NewRidge(68, 1.0/8844) // phishing's 68 features, λ = 1/N
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Name(), "has", model.NumParams(), "parameters")
	// Output: logreg has 69 parameters
}
