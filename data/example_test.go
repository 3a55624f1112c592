package data_test

import (
	"fmt"

	"proactivedp/data"
	"proactivedp/rng"
)

// Rows and labels of one's own, split and dealt to two clients.
func Example() {
	rows, labels := make([][]float32, 50), make([]int32, 50)
	for i := range rows {
		rows[i], labels[i] = []float32{float32(i), 1}, int32(i%3)
	}
	d, err := data.FromRows("own", rows, labels)
	if err != nil {
		fmt.Println(err)
		return
	}
	root := rng.New(1)
	train, test, err := data.Split(d, root)
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := data.Shard.Deal(train, 2, root)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Len(), "rows of", d.Shape(), "in", d.Classes, "classes")
	fmt.Println(train.Len(), "to train,", test.Len(), "to test,", parts[0].Len(), "of them a client's")
	// Output:
	// 50 rows of 2 features in 3 classes
	// 40 to train, 10 to test, 20 of them a client's
}

// Images of 2 × 2 grey pixels.
func ExampleImages() {
	d := &data.Dataset{
		Name: "own", Classes: 2, Features: 4, Label: []int32{0, 1},
		Images: &data.Images{
			Channels: 1, Height: 2, Width: 2,
			Pixels: []byte{0, 0, 255, 255, 255, 255, 0, 0},
			Mean:   []float32{0.5}, Std: []float32{0.5}, // of the pixels over 255
		},
	}
	fmt.Println(d.Validate(), d.Shape())
	// Output: <nil> 1×2×2 pixels
}
