package lint

import (
	"strings"
	"testing"
)

// Every snippet of Go in docs/extend.md and docs/library.md is a part of a file of examples, which is
// compiled and run. Whole programs are tested by TestDocsProgramsRun.
func TestDocsSnippetsAreCompiled(t *testing.T) {
	sources := map[string]string{}
	for name, text := range texts(t, ".go") {
		if strings.HasPrefix(name, "examples/") {
			sources[name] = text
		}
	}
	snippets := 0
	for _, page := range []string{"docs/extend.md", "docs/library.md"} {
		_, fences := split(markdown(t)[page])
		for _, f := range fences {
			if f.language != "go" || strings.HasPrefix(f.code, "package main\n") {
				continue
			}
			snippets++
			if !standsIn(f.code, sources) {
				t.Errorf("%s:%d: the snippet is in no file of examples", page, f.line)
			}
		}
	}
	if snippets < 8 {
		t.Errorf("the pages have %d snippets, want at least 8", snippets)
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
