package message

import (
	"strings"
	"testing"
)

// The name that was probably meant is found. If no name is similar, none is returned.
func TestNameFindsWhatWasMeant(t *testing.T) {
	names := []string{"sigma", "sample-rate", "sample-size", "steps", "phishing-logreg-utility",
		"phishing-logreg-epsilon", "n"}
	for word, want := range map[string]string{
		"sigm": "sigma", "sgima": "sigma", "SIGMA": "sigma", "sigmaa": "sigma", "sample_size": "sample-size",
		"sample-rat": "sample-rate",
		"step":       "steps", "phishing-logreg-utlity": "phishing-logreg-utility",
		"phishing-logreg": "phishing-logreg-utility", "steeps": "steps",
		"sam": "sample-rate", "x": "", "": "", "clipping": "", strings.Repeat("sigma", 100): "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%q is taken for %q, want %q", word, got, want)
		}
	}
}

// A name that begins with the word is preferred to one that is only equally similar.
func TestNameThatBeginsWithTheWordComesFirst(t *testing.T) {
	if got := Nearest("mnist-lenet", []string{"mnist-budget", "mnist-lenet-delay"}); got != "mnist-lenet-delay" {
		t.Errorf("taken for %q", got)
	}
}

// The usual examples of Levenshtein's distance, and one with two exchanged letters.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"", "abc", 3}, {"abc", "", 3}, {"same", "same", 0}, {"θ", "Θ", 1},
		{"ab", "ba", 1}} {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("from %q to %q it is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
