package trainer_test

import (
	"context"
	"fmt"

	"proactivedp/trainer"
)

// A script that does not speak the protocol is an error.
func Example() {
	seed := uint64(1)
	task := trainer.Task{
		Protocol: trainer.Protocol, Role: trainer.Public, Plan: trainer.NewPlan(0.5, 32, 1000, 100),
		MaxGradNorm: 1, LearningRate: 0.1, Scale: 0.25, Seed: &seed,
	}
	t, err := trainer.New("echo trained", trainer.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = t.Public(context.Background(), task)
	fmt.Println(task.Validate(), err != nil)
	// Output: <nil> true
}
