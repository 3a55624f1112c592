package experiments

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/internal/decimal"
	"proactivedp/internal/report"
)

// CourseTable returns the data of several courses as a table for a CSV file, with a header and a row for each client
// in each stage. A course is a run of a [Loop], and a stage is one of its private trainings. clients has the budget
// and the target accuracy of each client, in the same order as in the courses. courses[i] must have been run with the
// seed i+1. strategy is the name of the rule by which stages were planned, see auto.Strategy.
func CourseTable(strategy string, clients []CourseClient, courses []Course) [][]string {
	table := [][]string{{"seed", "strategy", "stage", "rounds_so_far", "sample_size", "rounds", "clip", "eta0",
		"client", "target_epsilon", "target_accuracy", "takes_part", "sigma", "held_out_accuracy", "satisfied",
		"part_of_budget_spent"}}
	for seed, c := range courses {
		rounds := 0
		for number, s := range c.Stages {
			rounds += s.Rounds
			for i, client := range clients {
				sigma := ""
				if s.Sigma[i] > 0 {
					sigma = decimal.Exactly(s.Sigma[i])
				}
				size, own := s.run(i)
				table = append(table, []string{strconv.Itoa(seed + 1), strategy, strconv.Itoa(number),
					strconv.Itoa(rounds), strconv.Itoa(size), strconv.Itoa(own), report.Number(s.Clip),
					report.Number(s.Eta0), strconv.Itoa(i), decimal.Exactly(client.Epsilon),
					report.Number(client.Accuracy),
					strconv.FormatBool(s.Sigma[i] > 0), sigma, report.Number(s.HeldOut[i]),
					strconv.FormatBool(client.satisfied(s, i)), decimal.Up(s.Used[i], 6)})
			}
		}
	}
	return table
}

// CourseRows returns a table to print below the picture of a course, with a header and a row for each client. A course
// is a run of a [Loop], which plans and runs private trainings (stages) until every client has its target accuracy or
// has spent its budget. courses[0] is in the picture, and the other elements are runs with other seeds. A row has the
// client's target accuracy, its result in courses[0] (the guaranteed ε, the stages in which it took part, and its
// accuracies), and the number of runs in which it reached its target accuracy.
func CourseRows(clients []CourseClient, courses []Course) [][]string {
	out := [][]string{{"client", "guaranteed", "δ", "target", "took part in stages", "returns", "held-out at end",
		"test", "satisfied at end", "in all courses"}}
	drawn := courses[0]
	for i, client := range clients {
		var stages []int
		for number, s := range drawn.Stages {
			if s.Sigma[i] > 0 {
				stages = append(stages, number)
			}
		}
		satisfied := 0
		for _, c := range courses {
			if c.Clients[i].Satisfied {
				satisfied++
			}
		}
		end, word := drawn.Clients[i], "no"
		if end.Satisfied {
			word = "yes"
		}
		out = append(out, []string{strconv.Itoa(i), "ε ≤ " + decimal.Up(end.EpsilonUpper, 4),
			decimal.Up(end.Delta, 2),
			report.Number(client.Accuracy), stretches(stages), strconv.Itoa(drawn.returns(i)),
			fmt.Sprintf("%.4f", drawn.Stages[len(drawn.Stages)-1].HeldOut[i]), fmt.Sprintf("%.4f", end.TestAccuracy),
			word, fmt.Sprintf("%d of %d", satisfied, len(courses))})
	}
	return out
}

// stretches formats increasing numbers, with consecutive ones as a range. It returns "–" if there are
// none.
func stretches(numbers []int) string {
	var texts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		text := strconv.Itoa(numbers[i])
		if last > i {
			text += "–" + strconv.Itoa(numbers[last])
		}
		texts = append(texts, text)
		i = last + 1
	}
	if len(texts) == 0 {
		return "–"
	}
	return strings.Join(texts, ", ")
}

// Caption returns the text to print below the picture of a course and its table (see [CourseRows]). A course is a run
// of a [Loop], which plans and runs private trainings (stages) until every client has its target accuracy or has
// spent its budget. The text says what the picture shows, which privacy is guaranteed, and that a client decides by
// its accuracy on held-out records whether to take part in the next stage. courses[0] is in the picture. The other
// elements are runs with other seeds. The text only says how many they are, because the last column of the table
// counts the runs in which a client reached its target.
func Caption(courses []Course) string {
	c := courses[0]
	return fmt.Sprintf("Drawn: seed 1; the last column of the table counts over %s. Points: the ends of stages, at "+
		"which each client judges the model by its own held-out records, which the ε does not cover; lines without "+
		"points: their targets. A client that is satisfied takes no part, and returns when its accuracy has fallen below; one whose "+
		"budget lets no stage through can do no more.\n"+
		"Utility graph: of %s. Guaranteed: an upper bound per record, of the whole budget of a filter (%s), however "+
		"little of it is spent; %s adjacency, %s sampling. Test records decided nothing. Numbered seeds: a "+
		"simulation, no release.", decimal.Many(len(courses), "seed"), c.Probe, c.Accountant, c.Adjacency, c.Sampling)
}
