package main

import (
	"testing"

	"proactivedp/internal/version"
	"proactivedp/web"
)

// The page inside the program is used only if it was made from the program's own source.
func TestPageInsideIsOfTheSameSource(t *testing.T) {
	const rev = "0123abc"
	for _, c := range []struct {
		page  string
		build version.Info
		own   bool
	}{
		{"v1.2.3", version.Info{Version: "v1.2.3", Revision: rev}, true},
		{"v1.2.3", version.Info{Version: "v1.2.4", Revision: rev}, false},
		{rev, version.Info{Version: "(devel)", Revision: rev}, true},
		{rev, version.Info{Version: "(devel)", Revision: rev, Modified: true}, false},
		{rev + ", with changes", version.Info{Version: "(devel)", Revision: rev, Modified: true}, true},
		{rev + ", with changes", version.Info{Version: "(devel)", Revision: rev}, false},
		{"", version.Info{}, false},
	} {
		page, err := web.Page(web.Planner{Version: c.page})
		if err != nil {
			t.Fatal(err)
		}
		if text := own(page, c.build); (text != nil) != c.own {
			t.Errorf("a page of %q for %+v: %v, want %v", c.page, c.build, text != nil, c.own)
		}
	}
	if own(nil, version.Info{}) != nil {
		t.Error("a page where there is none")
	}
}
