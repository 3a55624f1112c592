//go:build !js

// Command planner is the planner for browsers, as WebAssembly. The command proactivedp page compiles it with GOOS=js
// GOARCH=wasm. On other systems it only prints an error.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "planner: this program is for browsers; it runs in the page that proactivedp page "+
		"makes")
	os.Exit(2)
}
