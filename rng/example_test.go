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
	// secret = 9 bytes, must be in [32, 1024]
}

// Two releases of one root share no noise if they are two runs of it.
func ExampleRoot_ForRun() {
	root := rng.New(1)
	first, second := root.ForRun(0), root.ForRun(1)
	fmt.Println(first.Name(), "/", second.Name())
	fmt.Println(first.Stream(rng.Noise, 0, 0).Normal() == second.Stream(rng.Noise, 0, 0).Normal())
	// Output:
	// seed 1, run 0 / seed 1, run 1
	// false
}
