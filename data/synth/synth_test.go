package synth

import (
	"math"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/rng"
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		shape                         shape
		name                          string
		rows, features, entries, ones int
		value                         float32
	}{
		{phishing(), "synth-phishing", 11055, 68, 30, 6157, 0.18257},
		{mushrooms(), "synth-mushrooms", 8124, 112, 21, 4208, 1},
	} {
		for seed := range uint64(3) {
			d, _ := c.shape.draw(rng.New(seed))
			if err := d.Validate(); err != nil {
				t.Fatal(err)
			}
			if d.Name != c.name || !d.Synthetic || d.Classes != 2 || d.Len() != c.rows || d.Features != c.features {
				t.Errorf("seed %d: %s, synthetic %v, %d classes, %d rows, %d features; want %+v",
					seed, d.Name, d.Synthetic, d.Classes, d.Len(), d.Features, c)
			}
			seen := make([]int, d.Features)
			for i := range d.Len() {
				row := d.Row(i)
				if len(row.Index) != c.entries {
					t.Fatalf("seed %d: row %d has %d entries, want %d", seed, i, len(row.Index), c.entries)
				}
				for j, column := range row.Index {
					seen[column]++
					if row.Value[j] != c.value {
						t.Fatalf("seed %d: row %d has value %v, want %v", seed, i, row.Value[j], c.value)
					}
				}
			}
			for column, n := range seen {
				if n == 0 {
					t.Errorf("seed %d: column %d has no entry", seed, column)
				}
			}
			got, want := float64(d.All().ClassCounts()[1])/float64(c.rows), float64(c.ones)/float64(c.rows)
			if math.Abs(got-want) > 0.02 {
				t.Errorf("%s, seed %d: %.3f of the rows in class 1, want about %.3f", c.name, seed, got, want)
			}
		}
	}
}

// Each row has one level of each attribute.
func TestRowsAreOneHot(t *testing.T) {
	for _, s := range shapes() {
		d, _ := s.draw(rng.New(1))
		for i := range d.Len() {
			first := 0
			for j, levels := range s.levels {
				if c := int(d.Row(i).Index[j]); c < first || c >= first+levels {
					t.Fatalf("%s: row %d: entry %d in column %d, want [%d, %d)", s.name, i, j, c, first, first+levels)
				}
				first += levels
			}
		}
	}
}

// Golden: a change here changes every result on a stand-in.
func TestSeedMeansTheseRows(t *testing.T) {
	want := map[string]string{
		"synth-phishing":    "dcdc5211df5fafffd45698e1dfb83b766093f7a34a4659d090caa9e04701cde3",
		"synth-mushrooms":   "8b0bcfc90e4d0835e8dbd41c7eed66fd038e17f47bc6e25839ad1b8bb04fa752",
		"synth-mnist:700":   "2bf1786cb4f8ff1c056763d35ff0c499dc3064f78ab90ab1d26e67b043217ca2",
		"synth-cifar10:600": "07af48482c1c3b72a4f5ee227ac8e1717b010748bdd570f547fec2a3ea915eb9",
	}
	seen := map[string]bool{}
	for name, golden := range want {
		for seed := range uint64(3) {
			d, err := Make(name, rng.New(seed))
			if err != nil {
				t.Fatal(err)
			}
			again, _ := Make(name, rng.New(seed))
			h := d.Hash()
			if d.Name != name || again.Hash() != h || seen[h] {
				t.Errorf("%s, seed %d: named %s, repeats itself %v, is another %v; want it to be a function of name "+
					"and seed",
					name, seed, d.Name, again.Hash() == h, seen[h])
			}
			seen[h] = true
			if seed == 1 && h != golden {
				t.Errorf("%s, seed 1: hash %s, want %s", name, h, golden)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range Names() {
		if err := Check(name); !Is(name) || err != nil {
			t.Errorf("%s: a stand-in: %v, %v", name, Is(name), err)
		}
	}
	for name, want := range map[string]string{
		"phishing": `data set = "phishing", must be one of ` +
			`["synth-phishing" "synth-mushrooms" "synth-mnist" "synth-cifar10"]`,
		"synth-phishing:10": `data set = "synth-phishing:10", must be "synth-phishing", ` +
			`which always has as many rows as the real data set`,
		"synth-mnist:19":     `synth-mnist: rows = "19", must be in [20, 100000]`,
		"synth-mnist:100001": `synth-mnist: rows = "100001", must be in [20, 100000]`,
		"synth-cifar10:few":  `synth-cifar10: rows = "few", must be in [20, 100000]`,
		"synth-cifar10:":     `synth-cifar10: rows = "", must be in [20, 100000]`,
	} {
		_, err := Make(name, rng.New(1))
		if checked := Check(name); err == nil || checked == nil || err.Error() != want || checked.Error() != want {
			t.Errorf("errors %v and %v, want %s", err, checked, want)
		}
		if Is(name) != strings.HasPrefix(name, "synth-") {
			t.Errorf("%q is a stand-in: %v", name, Is(name))
		}
	}
}

func TestTeacher(t *testing.T) {
	for _, s := range shapes() {
		for seed := range uint64(3) {
			d, p := s.draw(rng.New(seed))
			if got := bayes(p); math.Abs(got-s.bayes) > 1e-9 {
				t.Errorf("%s, seed %d: the teacher's accuracy is %v, want %v", s.name, seed, got, s.bayes)
			}
			right := 0
			for i, v := range p {
				if (v > 0.5) == (d.Label[i] == 1) {
					right++
				}
			}
			n := float64(d.Len())
			if got, slack := float64(right)/n, 4*math.Sqrt(s.bayes*(1-s.bayes)/n); math.Abs(got-s.bayes) > slack {
				t.Errorf("%s, seed %d: the teacher is right on %v of the labels, want %v ± %.4f", s.name, seed, got,
					s.bayes, slack)
			}
		}
	}
}

func TestTeacherNeedsScores(t *testing.T) {
	defer func() {
		if msg, _ := recover().(string); !strings.HasPrefix(msg, "synth: flat: ") {
			t.Errorf("panic %q, want one that names the set", msg)
		}
	}()
	shape{name: "flat", positive: 0.5, bayes: 0.9}.teach(make([]float64, 10))
}

// Plain logistic regression finds the teacher.
func TestLearnable(t *testing.T) {
	for name, c := range map[string]struct {
		steps int
		least float64
	}{
		"synth-phishing":  {100, 0.93},
		"synth-mushrooms": {250, 0.97},
	} {
		root := rng.New(1)
		d, err := Make(name, root)
		if err != nil {
			t.Fatal(err)
		}
		train, test, err := data.Split(d, root)
		if err != nil {
			t.Fatal(err)
		}
		if got := accuracy(fit(train.All(), c.steps), test.All()); got < c.least {
			t.Errorf("%s: accuracy %.4f on rows not learned from, want at least %v", name, got, c.least)
		}
	}
}

// fit returns weights, the last the bias, after some steps of accelerated
// gradient descent (Nesterov), of the length that suits the rows' norm.
func fit(b data.Batch, steps int) []float64 {
	w := make([]float64, b.Data.Features+1)
	ahead, gradient := make([]float64, len(w)), make([]float64, len(w))
	row, _ := b.Example(0)
	norm2 := 1.0
	for _, v := range row.Value {
		norm2 += float64(v * v)
	}
	for step := range steps {
		clear(gradient)
		for i := range b.Len() {
			row, label := b.Example(i)
			residual := 1/(1+math.Exp(-score(ahead, row))) - float64(label)
			for j, c := range row.Index {
				gradient[c] += residual * float64(row.Value[j])
			}
			gradient[len(w)-1] += residual
		}
		for i, g := range gradient {
			next := ahead[i] - 4/norm2*g/float64(b.Len())
			ahead[i] = next + float64(step)/float64(step+3)*(next-w[i])
			w[i] = next
		}
	}
	return w
}

func accuracy(w []float64, b data.Batch) float64 {
	right := 0
	for i := range b.Len() {
		if row, label := b.Example(i); (score(w, row) > 0) == (label == 1) {
			right++
		}
	}
	return float64(right) / float64(b.Len())
}

func score(w []float64, row data.Row) float64 {
	sum := w[len(w)-1]
	for j, c := range row.Index {
		sum += w[c] * float64(row.Value[j])
	}
	return sum
}

func BenchmarkPhishing(b *testing.B) {
	root := rng.New(1)
	for b.Loop() {
		Phishing(root)
	}
}

// The bytes of a stand-in are those of its slices, whatever number of rows is asked for.
func TestBytesAreThoseOfTheSlices(t *testing.T) {
	for _, name := range []string{"synth-phishing", "synth-mushrooms", "synth-mnist:100", "synth-cifar10:77"} {
		d, err := Make(name, rng.New(1))
		if err != nil {
			t.Fatal(err)
		}
		want := int64(4*len(d.Label) + 4*len(d.Index) + 4*len(d.Value))
		if d.Images != nil {
			want += int64(len(d.Images.Pixels))
		}
		got, err := Bytes(name)
		if err != nil || got != want+8*int64(d.Len()) {
			t.Errorf("%s: %d bytes, %v, want %d", name, got, err, want+8*int64(d.Len()))
		}
	}
	if _, err := Bytes("synth-mnist:0"); err == nil {
		t.Error("no rows have bytes")
	}
}
