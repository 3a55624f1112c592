package propose

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
	"proactivedp/train/pool"
)

// A model or features that the user chose are never changed. Rows have no choice of features.
func TestHeadsKeepWhatIsGiven(t *testing.T) {
	images := &data.Dataset{Images: &data.Images{Channels: 1, Height: 28, Width: 28}}
	for _, c := range []struct {
		data            *data.Dataset
		base            Head
		model, features bool
		want            []Head
	}{
		{images, Head{"lenet", ""}, false, false, []Head{{"softmax", "scatter"}, {"lenet", ""}}},
		{images, Head{"logreg", ""}, false, false, []Head{{"softmax", "scatter"}, {"softmax", ""}}},
		{images, Head{"lenet", ""}, true, false, []Head{{"lenet", ""}}},
		{images, Head{"softmax", ""}, true, false, []Head{{"softmax", "scatter"}, {"softmax", ""}}},
		{images, Head{"mlp:16", ""}, true, false, []Head{{"mlp:16", "scatter"}, {"mlp:16", ""}}},
		{images, Head{"lenet", "hog:4:8"}, false, true, []Head{{"softmax", "hog:4:8"}}},
		{images, Head{"mlp:16", "hog:4:8"}, true, true, []Head{{"mlp:16", "hog:4:8"}}},
		{images, Head{"lenet", "hog:4:8"}, true, true, []Head{{"lenet", "hog:4:8"}}}, // the error comes later
		{&data.Dataset{Features: 68}, Head{"logreg", ""}, false, false, []Head{{"logreg", ""}}},
	} {
		got := Heads(c.base.of(train.DefaultSpec()), c.data, c.model, c.features)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v, model given %v, features given %v: %v, must be %v", c.base, c.model, c.features, got, c.want)
		}
	}
}

// The comparison ranks heads by their proxies, says why it leaves a head out, and gives the same answer
// for any number of workers. If only one head is left, it runs no proxies.
func TestHeadsAreCompared(t *testing.T) {
	base := train.DefaultSpec()
	base.Data, base.Clients, base.Clip = "drawn", 1, 0.025
	r := DefaultRequest(base, 8)
	source := train.NewSource(synth.Digits(rng.New(3), 180))
	heads := []Head{{"lenet", "hog:7:4"}, {"softmax", "hog:14:1"}, {"softmax", "hog:7:4"}}
	compare := func(workers int, heads ...Head) ([]Compared, string) {
		var log strings.Builder
		o := Options{Data: source, Probe: source, Probing: Own, Trials: pool.Options{Workers: workers}}
		if workers > 1 {
			o.Trials.Progress = &log // for which times are measured
		}
		all, err := Compare(t.Context(), r, heads, o)
		if err != nil {
			t.Fatal(err)
		}
		return all, log.String()
	}
	all, log := compare(2, heads...)
	if all[0].Head != heads[2] || all[1].Head != heads[1] || all[2].Head != heads[0] ||
		!(all[0].Accuracy > all[1].Accuracy) || !strings.Contains(all[2].Left, "needs images") {
		t.Errorf("%+v", all)
	}
	if !strings.Contains(log, "comparing softmax on hog:14:1, softmax on hog:7:4 by proxies on ") || !strings.Contains(log, ": about ") {
		t.Errorf("log %q", log)
	}
	text := ComparedText("", all)
	for _, want := range []string{"the model is softmax on hog:7:4, for which coarse proxies have accuracy 0.",
		"; for softmax on hog:14:1 0.", "; lenet on hog:7:4 is not compared, because model"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q must contain %q", text, want)
		}
	}
	if again, _ := compare(1, heads...); !reflect.DeepEqual(again, all) {
		t.Errorf("%+v with one worker", again)
	}
	one, log := compare(2, heads[0], heads[2])
	if one[0].Head != heads[2] || one[0].Accuracy != 0 || one[1].Left == "" || log != "" {
		t.Errorf("%+v, log %q", one, log)
	}
	if _, err := Compare(t.Context(), r, heads[:1], Options{Data: source, Probe: source, Probing: Own}); err == nil {
		t.Error("nothing can be trained, which must be an error")
	}
	if _, err := Compare(t.Context(), r, heads, Options{Data: source, Probe: source, Probing: Private}); err == nil {
		t.Error("proxies have almost no noise, so they must not see private data")
	}
}

// If proxies are slow, the search says before it begins how many there are at most, and how long they
// take.
func TestSlowSearchesSayTheirTime(t *testing.T) {
	var log strings.Builder
	r, o := request(), options(2)
	r.Base.Model, o.Trials.Progress = "mlp:2", &log
	s, err := newSearcher(r, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.plan(t.Context(), r.Epsilon, 1); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^proxies: at most about \d+, which take about \d`).MatchString(log.String()) {
		t.Errorf("log %q", log.String())
	}
}

// If no proxy runs, the text names the results for which scattering features were chosen.
func TestEvidenceIsNamed(t *testing.T) {
	text := ComparedText("", []Compared{{Head: Head{"softmax", "scatter"}}, {Head: Head{Model: "alexnet"}, Left: "it takes long"}})
	if want := "the model is softmax on scatter, " + evidence + "; alexnet is not compared, because it takes long"; text != want {
		t.Errorf("%q, must be %q", text, want)
	}
}
