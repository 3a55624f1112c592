package lint

import (
	"strings"
	"testing"
)

// Every snippet of Go in docs/extend.md stands, as it is, in a file of examples,
// which is compiled and run.
func TestDocsSnippetsAreCompiled(t *testing.T) {
	const page = "docs/extend.md"
	sources := map[string]string{}
	for name, text := range texts(t, ".go") {
		if strings.HasPrefix(name, "examples/") {
			sources[name] = text
		}
	}
	_, fences := split(markdown(t)[page])
	snippets := 0
	for _, f := range fences {
		if f.language != "go" {
			continue
		}
		snippets++
		if !standsIn(f.code, sources) {
			t.Errorf("%s:%d: the snippet stands in no file of examples", page, f.line)
		}
	}
	if snippets < 8 {
		t.Errorf("%s has %d snippets, want at least 8", page, snippets)
	}
}

// standsIn reports whether the code is whole lines of one of the sources.
func standsIn(code string, sources map[string]string) bool {
	for _, text := range sources {
		if strings.Contains("\n"+text, "\n"+code) {
			return true
		}
	}
	return false
}

func TestDocsOtherSnippetsAreFound(t *testing.T) {
	sources := map[string]string{"a.go": "package a\n\nfunc f() {\n\tg()\n}\n"}
	for code, want := range map[string]bool{
		"package a\n": true, "\tg()\n}\n": true, "g()\n": false, "\tg()\n\th()\n": false, "func f() {\n\th()\n": false,
	} {
		if got := standsIn(code, sources); got != want {
			t.Errorf("%q: %v", code, got)
		}
	}
}
