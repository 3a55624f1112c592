package answer

import (
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/message"
	"proactivedp/plan"
	"proactivedp/plan/libraries"
)

// Command is a format in which a plan can be written, in addition to those of package libraries: the command lines of
// this program that run the plan. See PlanQuestion.Code.
const Command libraries.Format = "proactivedp"

// commands returns two commands: one prints this plan, the other prints the cost of its run by every
// accountant.
func (q PlanQuestion) commands(p *plan.Plan) libraries.Code {
	c := libraries.Code{Format: Command, Library: "ProactiveDP", Tried: "these commands print the plan and its " +
		"cost",
		Text: q.planCommand() + "\n"}
	for _, e := range p.Events() {
		c.Text += "\n" + q.accountCommand(e, p.Delta) + "\n"
		c.Caveats = []string{
			"The first command prints this plan. The second prints the cost of its run by every accountant.",
			"To train by this plan, save the output of --json: proactivedp train --plan plan.json --data my.libsvm.",
		}
	}
	return c
}

func (q PlanQuestion) planCommand() string {
	return command("proactivedp plan",
		message.Option("n", q.N),
		message.Option("epochs", q.Epochs),
		message.Option("batch-size", q.SampleSize),
		message.Option("steps", q.Rounds),
		message.Option("noise-multiplier", q.Sigma),
		message.Option("target-epsilon", q.Epsilon),
		message.Option("delta", q.Delta),
		message.Option("theta", q.Theta),
		message.Option("method", q.Method),
		message.Option("adjacency", q.Adjacency),
		message.Option("sampling", q.Sampling),
		message.Option("batches", q.Batches),
		message.Option("redraw", q.Redraw),
		message.Option("group", q.Group),
		message.Option("clients", q.Clients),
		message.Option("shared", q.Shared),
		message.Option("root", q.Root),
		q.accuracy())
}

func (q PlanQuestion) accountCommand(e dp.Event, delta float64) string {
	batches := 0
	if e.Sampling == dp.Allocation { // the batches say the rate
		batches, e.Rate, e.SampleSize, e.DatasetSize = e.Batches(), 0, 0, 0
	}
	if e.Adjacency == dp.NaturalAdjacency(e.Sampling) {
		e.Adjacency = ""
	}
	if e.Sampling == dp.Poisson {
		e.Sampling = ""
	}
	return command("proactivedp account",
		message.Option("noise-multiplier", e.NoiseMultiplier),
		message.Option("batches", batches),
		message.Option("sample-rate", e.Rate),
		message.Option("batch-size", e.SampleSize),
		message.Option("n", e.DatasetSize),
		message.Option("steps", e.Count),
		message.Option("delta", delta),
		message.Option("sampling", e.Sampling),
		message.Option("redraw", e.Redraw),
		message.Option("group", e.Group),
		message.Option("adjacency", e.Adjacency),
		q.accuracy())
}

// accuracy returns the option for the accuracy, unless it is the usual one.
func (q PlanQuestion) accuracy() string {
	if q.Accuracy == pld.DefaultAccuracy {
		return ""
	}
	return message.Option("accuracy", q.Accuracy)
}

// commandWidth is the largest width of a line of a command, in characters.
const commandWidth = 88

// command returns a command with its options, in several lines if it is long.
func command(name string, options ...string) string {
	text, line := "", name
	for _, option := range options {
		if option != "" && len(line)+len(option) > commandWidth-2 {
			text, line = text+line+" \\\n", "   "
		}
		line += option
	}
	return text + line
}
