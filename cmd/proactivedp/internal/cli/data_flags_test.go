package cli

import (
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/dp"
	"proactivedp/train"
)

// What a command does not cover is said once, beside what is so of every training.
func TestNotCoveredIsSaidBesideTheRest(t *testing.T) {
	for _, tt := range []struct{ note, want string }{
		{"", "NOT covered by (ε, δ): this"},
		{"normalised", "normalised; NOT covered by (ε, δ): this"},
		{"normalised; NOT covered by (ε, δ): that", "normalised; NOT covered by (ε, δ): that; nor this"},
	} {
		d := data.Dataset{Note: tt.note}
		if NotCovered(&d, "this"); d.Note != tt.want {
			t.Errorf("%q: %q, want %q", tt.note, d.Note, tt.want)
		}
		d = data.Dataset{Note: tt.note, Synthetic: true}
		if NotCovered(&d, "this"); d.Note != tt.note {
			t.Errorf("drawn records: %q", d.Note)
		}
	}
}

// What (ε, δ) does not cover is said of every set by what is true of it: a split that was
// published is everybody's, one that is made here of a published set is not.
func TestUncoveredIsSaidOfEverySet(t *testing.T) {
	whole, parts, drawn := &data.Dataset{}, &data.Dataset{Train: 60_000}, &data.Dataset{Synthetic: true}
	const features, split, dealt = "the model's length", "the split", "which client holds a row"
	const labels, number, held = "which labels there are", "how many records there are", "how many records are held out"
	for _, tt := range []struct {
		name string
		set  *data.Dataset
		spec train.Spec
		want []string
	}{
		{"phishing", whole, train.Spec{Data: "phishing"}, []string{split}},
		{"mushrooms by record", whole, train.Spec{Data: "mushrooms", Split: train.RecordSplit}, nil},
		{"phishing by record, of fixed size", whole,
			train.Spec{Data: "phishing", Split: train.RecordSplit, Sampling: "fixed"}, []string{split}},
		{"phishing in shards", whole, train.Spec{Data: "phishing", Partition: "shard"}, []string{split, dealt}},
		{"mnist", parts, train.Spec{Data: "mnist"}, nil},
		{"mnist in shards", parts, train.Spec{Data: "mnist", Partition: "shard"}, []string{dealt}},
		{"records held out", whole, train.Spec{Split: train.RecordSplit, Holdout: 0.1}, nil},
		{"another part of them", whole, train.Spec{Split: train.RecordSplit, Holdout: 0.1, Fold: 1}, nil},
		{"records held out, of fixed size", parts, train.Spec{Sampling: "fixed", Holdout: 0.1}, []string{held}},
		{"stand-in", drawn, train.Spec{Data: "synth-phishing", Partition: "shard"}, nil},
		{"a file", whole, train.Spec{Data: "my.libsvm"}, []string{features, labels, number, split}},
		{"a stand-in's file", drawn, train.Spec{Data: "my.libsvm"}, nil},
		{"a file with --label-map", whole, train.Spec{Data: "mapped.libsvm"}, []string{features, number, split}},
		{"arrays, which all have one width", whole, train.Spec{Data: "mapped.npz", Split: train.RecordSplit},
			[]string{number}},
		{"a table", whole, train.Spec{Data: "mapped.csv", Split: train.RecordSplit}, []string{number}},
		{"a file of known width", whole, train.Spec{Data: "my.libsvm", Features: 7, Split: train.RecordSplit},
			[]string{labels, number}},
		{"a file under replace-one adjacency, of which all neighbours have as many records", parts,
			train.Spec{Data: "mapped.libsvm", Features: 7, Sampling: "fixed"}, nil},
	} {
		if tt.spec.Partition == "" {
			tt.spec.Partition = string(data.Replicate)
		}
		if tt.spec.Sampling == "" {
			tt.spec.Sampling = string(dp.Poisson)
		}
		var own OwnFlags
		if strings.HasPrefix(tt.spec.Data, "mapped") {
			own.LabelMap = "1,2"
		}
		got := own.uncovered(tt.spec, tt.set)
		for _, what := range []string{features, labels, number, split, held, dealt} {
			wanted := false
			for _, w := range tt.want {
				wanted = wanted || w == what
			}
			if strings.Contains(got, what) != wanted {
				t.Errorf("%s: %q, says %q: %v, want %v", tt.name, got, what, !wanted, wanted)
			}
		}
		if (got == "") != (len(tt.want) == 0) || len(tt.want) > 0 && !strings.HasPrefix(got,
			"NOT covered by (ε, δ): ") {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
