package auto

import (
	"context"
	"strings"
	"testing"

	"proactivedp/train"
)

// What is said to be public of the data is checked before anything follows from it: of no records
// no sample can be drawn, and each client judges by records of its own.
func TestPublicIsChecked(t *testing.T) {
	for _, strategy := range Strategies() {
		task := Task{Spec: train.DefaultSpec(), Strategy: strategy, Clients: []Client{{Epsilon: 1, Accuracy: 0.9,
			Records: 50}}}
		task.Spec.Clients, task.Spec.NoiseMultiplier, task.Spec.Holdout = 1, 0, 10
		utility := func(context.Context, Question) (Outlook, error) {
			t.Errorf("%s: the utility graph is asked for", strategy)
			return Outlook{}, context.Canceled
		}
		for want, p := range map[string]Public{
			"records = 0": {HeldOut: []int{10}}, "held-out records of 0 clients": {Records: 100},
			"held-out records = -1 of client 0": {Records: 100, HeldOut: []int{-1}},
			"records = 50, must be at most":     {Records: 49, HeldOut: []int{10}},
		} {
			open := func(context.Context) (Trainer, error) { return nil, context.Canceled }
			_, err := Run(t.Context(), task, Options{Public: p, Utility: utility, Open: open})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %+v: error %v, want %q", strategy, p, err, want)
			}
		}
		if _, err := Run(t.Context(), task, Options{Public: Public{Records: 100, HeldOut: []int{10}}}); err == nil ||
			!strings.Contains(err.Error(), "utility graph") {
			t.Errorf("%s, without a utility graph: error %v", strategy, err)
		}
	}
}
