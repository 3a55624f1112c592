package report

import (
	"slices"
	"strings"
	"testing"
)

// Prose is broken at 100 columns and nothing else of a page changes; what was
// broken stays as it is.
func TestMarkdownIsBrokenIntoLines(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("σ and ε ", 30))
	code := "```\n" + long + "\n```"
	kept := "# " + long + "\n\n| " + long + " |\n\n" + code + "\n\n![" + long + "](x.png)\n"
	if got := Markdown(kept); got != kept {
		t.Errorf("%q became %q", kept, got)
	}
	page := long + "\n\n- " + long + "\n  1. " + long + "\n\n" + strings.Repeat("word = - + 1. 2) # ", 20) + "\n" +
		strings.Repeat("x", 200)
	got := Markdown(page)
	if again := Markdown(got); again != got {
		t.Errorf("broken again:\n%s\n%s", got, again)
	}
	if words, want := strings.Fields(got), strings.Fields(page); !slices.Equal(words, want) {
		t.Errorf("words %q, want %q", words, want)
	}
	for i, line := range strings.Split(got, "\n") {
		if len([]rune(line)) > 100 && strings.Contains(line, " ") {
			t.Errorf("line %d has %d columns", i+1, len([]rune(line)))
		}
		if i > 0 && marking.MatchString(strings.SplitN(strings.TrimSpace(line), " ", 2)[0]) && !item.MatchString(line) {
			t.Errorf("line %d begins with a mark: %q", i+1, line)
		}
	}
	lines := strings.Split(got, "\n")
	at := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "- ") })
	if at < 0 || !strings.HasPrefix(lines[at+1], "  ") {
		t.Errorf("an item does not go on below its text:\n%s", got)
	}
}
