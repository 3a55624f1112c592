package train

import (
	"strings"
	"testing"

	"proactivedp/models"
)

// The text of a report has every number in the right place.
func TestReportText(t *testing.T) {
	quarter := 0.25
	r := Report{
		Accuracy: &Accuracy{0.875}, Judgement: &Judgement{MajorityShare: 0.55, BeatsMajority: true,
			ClassMetrics: ClassMetrics{BalancedAccuracy: 0.8125, F1: 0.9, LogLoss: &quarter, PerClass: []ClassResult{
				{"no", models.ClassResult{Count: 100, Recall: 0.75, Precision: 0.6}},
				{"yes", models.ClassResult{Count: 300, Recall: 0.9, Precision: 0.95}}}}},
		JudgedRows: JudgedRows{400, 390, 2}, Rounds: 10, Updates: 50, GradComps: 100, Remainder: 7,
		GradCompsMin: 100, GradCompsMax: 100,
		MaxLag: 3, MeanLag: 1.25, VirtualTime: 0.5, ParamsSHA256: "abc", ParamsNorm: 2.5, Seconds: 4,
		Synthetic: true, Notes: []string{"a note"},
		Spec: Spec{Data: "synth", Runner: VirtualRunner},
	}
	const want = `test accuracy   0.8750 on 400 rows of synth (SYNTHETIC data)
privacy         no ε claimed for a record
distinct rows   390 of 400
baseline        0.5500 by always predicting the most frequent class
other metrics   balanced accuracy 0.8125, F1 0.9000, no AUC, log loss 0.2500
classes         no: 100 rows, recall 0.7500, precision 0.6000
                yes: 300 rows, recall 0.9000, precision 0.9500
rounds          10 per client, 50 updates in all, at most 3 behind, 1.25 on average
simulated time  0.5 s on the virtual clock
computations    100 gradients per client, 7 left over
parameters      sha256 abc, norm 2.5
training loop   4.000 s (12.5 rounds per second)
note            a note
`
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.HasPrefix(text.String(), want) {
		t.Errorf("%v:\n%s\nmust begin with\n%s", err, text.String(), want)
	}
	text.Reset()
	r.Spec.Holdout, r.Spec.Runner, r.GradCompsMax, r.Theta = 0.1, HogwildRunner, 130, 1.5
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"held-out acc.   0.8750 on",
		"computations    100 to 130 gradients per client, nominally 100, θ ≤ 1.5, 7 left over",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "virtual clock") {
		t.Errorf("a clock of the hogwild runner:\n%s", text.String())
	}
}
