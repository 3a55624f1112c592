package answer

import (
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/internal/decimal"
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
	var flags commandLine
	flags.count("n", q.N)
	flags.number("epochs", q.Epochs)
	flags.count("batch-size", q.SampleSize)
	flags.count("steps", q.Rounds)
	flags.number("noise-multiplier", q.Sigma)
	flags.number("target-epsilon", q.Epsilon)
	flags.number("delta", q.Delta)
	flags.number("theta", q.Theta)
	flags.text("method", string(q.Method))
	flags.text("adjacency", string(q.Adjacency))
	flags.text("sampling", string(q.Sampling))
	flags.count("batches", q.Batches)
	flags.text("redraw", string(q.Redraw))
	flags.count("group", q.Group)
	flags.count("clients", q.Clients)
	if q.Shared {
		flags.words = append(flags.words, "--shared")
	}
	flags.text("root", q.Root)
	if q.Accuracy != pld.DefaultAccuracy {
		flags.number("accuracy", q.Accuracy)
	}
	return flags.join("proactivedp plan")
}

func (q PlanQuestion) accountCommand(e dp.Event, delta float64) string {
	var flags commandLine
	flags.number("noise-multiplier", e.NoiseMultiplier)
	if e.Sampling == dp.Allocation {
		flags.count("batches", e.Batches())
	} else {
		flags.number("sample-rate", e.Rate)
		flags.count("batch-size", e.SampleSize)
		flags.count("n", e.DatasetSize)
	}
	flags.count("steps", e.Count)
	flags.number("delta", delta)
	if e.Sampling != dp.Poisson {
		flags.text("sampling", string(e.Sampling))
	}
	flags.text("redraw", string(e.Redraw))
	flags.count("group", e.Group)
	if e.Adjacency != dp.NaturalAdjacency(e.Sampling) {
		flags.text("adjacency", string(e.Adjacency))
	}
	if q.Accuracy != pld.DefaultAccuracy {
		flags.number("accuracy", q.Accuracy)
	}
	return flags.join("proactivedp account")
}

// commandLine collects the flags of a command. It leaves out those that are not given.
type commandLine struct{ words []string }

func (c *commandLine) text(name, value string) {
	if value != "" {
		c.words = append(c.words, "--"+name+" "+message.Word(value))
	}
}

func (c *commandLine) number(name string, v float64) {
	if v != 0 {
		c.text(name, decimal.Exactly(v))
	}
}

func (c *commandLine) count(name string, v int) {
	if v != 0 {
		c.text(name, fmt.Sprint(v))
	}
}

// commandWidth is the largest width of a line of a command, in characters.
const commandWidth = 88

// join returns the command, split into several lines if it is long.
func (c *commandLine) join(name string) string {
	var text strings.Builder
	line := name
	for _, word := range c.words {
		if len(line)+1+len(word) > commandWidth-2 {
			text.WriteString(line + " \\\n")
			line = "   "
		}
		line += " " + word
	}
	return text.String() + line
}
