// Command planner is the planner for browsers, as WebAssembly: GOOS=js GOARCH=wasm. It defines one
// function for the page's workers, proactivedpAnswer(question), which calls answer.JSON.
package main

import (
	"context"
	"syscall/js"

	"proactivedp/answer"
)

func main() {
	js.Global().Set("proactivedpAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		if len(args) != 1 || args[0].Type() != js.TypeString {
			return string(answer.JSON(context.Background(), nil))
		}
		return string(answer.JSON(context.Background(), []byte(args[0].String())))
	}))
	select {} // the worker ends the program
}
