package experiments

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"proactivedp/internal/decimal"
	"proactivedp/internal/message"
	"proactivedp/internal/report"
	"proactivedp/train"
)

const textWidth = 100

// WriteText writes the report as text: the verdict, a table with the accuracy and the times for each delay, notes,
// and the privacy guarantee of a single training.
func (r *DelayReport) WriteText(w io.Writer) error {
	t := r.Spec.Train
	if _, err := fmt.Fprintf(w, "%s\n\n%s; %s, %d gradients each in %s; %s; judged on %s of %s (%s)\n%s\n\n",
		wrapped(r.Verdict.Text), train.ModelTitle(t.Model), decimal.Many(t.Clients, "client"), t.GradComps, decimal.Many(r.Rounds, "round"),
		seedsText(r.Spec.Seeds), decimal.Many(r.TestRows, "row"), report.Data(t.Data, r.Synthetic, r.DataNote),
		r.JudgedOn, wrapped(timingText(t))); err != nil {
		return err
	}
	if err := report.WriteColumns(w, r.comparison.rows()); err != nil {
		return err
	}
	notes := "All times are " + measuredText(t) + ". Accuracies: " + spreadText(r.Spec.Seeds) + "; " +
		r.majorityText() + "\n" + r.comparison.goalText() +
		"\ni − k: rounds that a client was ahead of the newest broadcast it had. Idle: waiting, of the time until a " +
		"client's last round ended."
	if _, err := fmt.Fprintf(w, "\n%s\n\n", wrapped(notes)); err != nil {
		return err
	}
	if err := report.WriteNotes(w, r.Notes); err != nil {
		return err
	}
	return r.Privacy.WriteText(w)
}

// WriteStatement writes the full privacy statement of a single training of the comparison, for the seed with the
// largest ε. It does not cover all trainings together.
func (r *DelayReport) WriteStatement(w io.Writer) error { return r.Privacy.WriteStatement(w) }

// majorityText states the baseline accuracy.
func (r *DelayReport) majorityText() string {
	text := fmt.Sprintf("always predicting the same class has %.4f.", r.Majority)
	if first := r.Delays[0]; first.Accuracy <= r.Majority {
		text += fmt.Sprintf(" The %s run does NOT beat it: its target, and who is there sooner, show nothing.",
			first.Name)
	}
	return text
}

// wrapped breaks text into lines of textWidth.
func wrapped(text string) string {
	return strings.Join(message.Wrap(text, func(line string) bool { return utf8.RuneCountInString(line) <= textWidth }),
		"\n")
}
