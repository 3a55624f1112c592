package main

import (
	"os"
	"path/filepath"
	"testing"

	"proactivedp/internal/version"
	"proactivedp/web"
)

// The page beside the program is its own only if its version names one source: not that of
// a checkout with changes, which the next build has, too.
func TestPageBesideTheProgramIsOfTheSameBuild(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		page  string
		build version.Info
		own   bool
	}{
		{"v1.2.3", version.Info{Version: "v1.2.3", Revision: "0123abc", Modified: true}, true},
		{"v1.2.3", version.Info{Version: "v1.2.4"}, false},
		{"0123abc", version.Info{Version: "(devel)", Revision: "0123abc"}, true},
		{"0123abc", version.Info{Version: "(devel)", Revision: "0123abc", Modified: true}, false},
		{"0123abc, with changes", version.Info{Version: "(devel)", Revision: "0123abc", Modified: true}, false},
		{"v0.0.0-2026-0123abc+dirty", version.Info{Version: "v0.0.0-2026-0123abc+dirty", Modified: true}, false},
		{"(devel)", version.Info{Version: "(devel)"}, false},
		{"unknown", version.Info{Version: "unknown"}, false},
		{"", version.Info{}, false},
	} {
		page, err := web.Page(web.Planner{Version: c.page})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, pageName), page, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, text := readyPage(dir, c.build); (text != nil) != c.own {
			t.Errorf("a page of %q for %+v: %v", c.page, c.build, text != nil)
		}
	}
	if _, text := readyPage(t.TempDir(), version.Info{}); text != nil {
		t.Error("a page from nowhere")
	}
}
