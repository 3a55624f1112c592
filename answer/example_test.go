package answer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"proactivedp/answer"
)

// A question in JSON, and what its answer says.
func ExampleJSON() {
	text := answer.JSON(context.Background(), []byte(
		`{"plan": {"n": 50000, "epochs": 10, "epsilon": 3, "delta": 1e-5}}`))
	var a answer.Answer
	if err := json.Unmarshal(text, &a); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Plan.Verdict)
	fmt.Printf("%s\n", answer.JSON(context.Background(), []byte(`{"plan": {"n": 50000, "epoch": 10}}`)))
	// Output:
	// Feasible: 123 rounds of s = 4096 with σ = 1.551216 cost a record ε ≤ 3 (certified by pld) at δ = 1e-05.
	// {"error":{"kind":"wrong","problems":["unknown field \"epoch\""]}}
}
