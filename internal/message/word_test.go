package message

import (
	"os/exec"
	"testing"
)

// A shell reads every quoted word as the original. A plain word is not quoted.
func TestWordsAreReadBack(t *testing.T) {
	for _, word := range []string{"seed:1", "a b", "it's", "$(id)", "`id`", `a\b"c`, "*;&|<>#~!", "ε", ""} {
		written := Word(word)
		if word == "seed:1" && written != word {
			t.Errorf("%q is written %q", word, written)
		}
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Skip("no shell")
		}
		out, err := exec.CommandContext(t.Context(), sh, "-c", "printf %s "+written).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is written %q and read %q, %v", word, written, out, err)
		}
	}
}

// An option without a value is left out, and a switch has none.
func TestOption(t *testing.T) {
	for got, want := range map[string]string{
		Option("n", 0): "", Option("n", 5): " --n 5", Option("delta", 1e-5): " --delta 1e-05", Option("shared", true): " --shared",
		Option("shared", false): "", Option("root", ""): "", Option("root", "true"): " --root true",
		Option("root", "my seed"): " --root 'my seed'",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
