//go:build !js

// Command planner is the planner for a browser, as WebAssembly; proactivedp page compiles
// it with GOOS=js GOARCH=wasm. Anywhere else it only says so.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "planner: this program is for browsers, and runs in the page that proactivedp page makes")
	os.Exit(2)
}
