package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"proactivedp/train"
)

// derivedFields are the fields of a spec that no flag sets: they are found in the
// files that other flags name.
var derivedFields = []string{"ComputeTrace", "LatencyTrace", "InitialSHA256"}

// Every field of a training's spec has one flag, and every flag one field.
func TestSpecFlagsAreTheFields(t *testing.T) {
	var spec train.Spec
	flags := map[any][]string{} // by the field's address
	for _, f := range specFlags {
		fields := []any{f.field(&spec)}
		if two, ok := fields[0].(*featuresFlag); ok {
			fields = []any{two.columns, two.mapped}
		}
		if one, ok := fields[0].(*boundsFlag); ok {
			fields[0] = one.epsilon
		}
		for _, p := range fields {
			flags[p] = append(flags[p], f.name)
		}
		if f.usage == "" {
			t.Errorf("--%s has no help", f.name)
		}
	}
	fields := reflect.ValueOf(&spec).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		want := 1
		if slices.Contains(derivedFields, name) {
			want = 0
		}
		p := fields.Field(i).Addr().Interface()
		if got := flags[p]; len(got) != want {
			t.Errorf("the field %s has the flags %v, want %d", name, got, want)
		}
		delete(flags, p)
	}
	if len(flags) > 0 {
		t.Errorf("no fields of a spec: %v", flags)
	}
}

// What a command states of a spec sets a spec that states the same.
func TestFlagsTextIsRead(t *testing.T) {
	usual := train.DefaultSpec()
	if text := FlagsText(usual, usual); text != "" {
		t.Errorf("nothing differs, but %q", text)
	}
	spec := usual
	spec.Clients, spec.Delay, spec.Loss, spec.Seed, spec.Holdout = 4, "unlimited", 0.25, 7, 0.1
	spec.FeatureMap, spec.InputScale = "hog:4:8", 0.5
	const want = " --clients 4 --delay unlimited --loss 0.25 --features hog:4:8 --input-scale 0.5 --holdout 0.1 --seed 7"
	if text := FlagsText(spec, usual); text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if text := FlagsText(spec, usual, "seed", "loss"); text != " --clients 4 --delay unlimited --features hog:4:8 "+
		"--input-scale 0.5 --holdout 0.1" {
		t.Errorf("without what is stated otherwise: %q", text)
	}
	// For the user's file, a setting is stated even if it is the usual one, because train would choose another.
	usual.Data = "my.csv"
	text := FlagsText(usual, Repeatable(usual))
	for _, want := range []string{" --noise-multiplier 19.29962", " --batch-size 26", " --grad-computations 50000", " --max-grad-norm 0.1",
		" --eta0 0.1", " --schedule linear"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	if usual.Data = "phishing"; Repeatable(usual) != usual {
		t.Errorf("%+v for public data", Repeatable(usual))
	}
}

// A release draws exactly unless --exact=false says otherwise, and so does a simulation whose
// plan says so.
func TestDrawExactly(t *testing.T) {
	for _, c := range []struct {
		planned train.Spec
		args    []string
		want    bool
	}{
		{train.Spec{}, nil, false},
		{train.Spec{SeedFromOS: true}, nil, true},
		{train.Spec{SeedFromOS: true}, []string{"--exact=false"}, false},
		{train.Spec{Exact: true}, nil, true},
		{train.Spec{Exact: true}, []string{"--exact=false"}, false},
	} {
		f, cmd := TrainFlags{}, &cobra.Command{}
		f.Add(cmd, RunFlags)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		if err := f.Fill(cmd, func(string, string) train.Spec { return c.planned }); err != nil {
			t.Fatal(err)
		}
		if f.DrawExactly(cmd); f.Spec.Exact != c.want {
			t.Errorf("exact = %v of %+v with %v, want %v", f.Spec.Exact, c.planned, c.args, c.want)
		}
	}
}
