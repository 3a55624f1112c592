package experiments_test

import (
	"fmt"

	"proactivedp/experiments"
)

// A client that is satisfied after the first stage is away in the second, and returns.
func ExampleCourseRows() {
	c := experiments.Course{
		Clients: []experiments.CourseEnd{{EpsilonUpper: 0.5, Delta: 1e-4, Satisfied: true, TestAccuracy: 0.91}},
		Stages: []experiments.CourseStage{
			{Rounds: 1000, Sigma: []float64{3}, HeldOut: []float64{0.91}, Used: []float64{0.125}},
			{Rounds: 1000, Sigma: []float64{0}, HeldOut: []float64{0.87}, Used: []float64{0.125}},
			{Rounds: 1000, Sigma: []float64{2.2}, HeldOut: []float64{0.92}, Used: []float64{0.375}},
		},
	}
	for _, row := range experiments.CourseRows([]experiments.CourseClient{{Epsilon: 0.5, Accuracy: 0.9}}, []experiments.Course{c}) {
		fmt.Println(row[1], row[4], row[5], row[8])
	}
	// Output:
	// guaranteed took part in stages returns satisfied at end
	// ε ≤ 0.5 0, 2 1 yes
}
