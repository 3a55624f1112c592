package rng_test

import (
	"bytes"
	"fmt"

	"proactivedp/rng"
)

// A draw is a function of the root and its place, whenever and wherever it is made.
func Example() {
	root := rng.New(1)
	first := root.Stream(rng.Sampling, 0, 7).IntN(1000)
	root.Stream(rng.Noise, 3, 2).Normal() // another place: it moves nothing
	again := rng.New(1).Stream(rng.Sampling, 0, 7).IntN(1000)
	fmt.Println(first == again)
	// Output: true
}

// A client whose process is started again goes on with the same noise.
func ExampleNewFromSecret() {
	secret := bytes.Repeat([]byte{7}, rng.MinSecret) // from a file that nobody else can read
	before, err := rng.NewFromSecret(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := rng.NewFromSecret(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(before.Stream(rng.Noise, 0, 5).Normal() == after.Stream(rng.Noise, 0, 5).Normal())
	_, err = rng.NewFromSecret([]byte("too short"))
	fmt.Println(err)
	// Output:
	// true
	// rng: secret = 9 bytes, must be in [32, 1024]
}
