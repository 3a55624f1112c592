package version

import (
	"runtime/debug"
	"testing"
)

func TestDescribe(t *testing.T) {
	checkout := &debug.BuildInfo{
		Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123abc"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	for _, c := range []struct {
		record                    *debug.BuildInfo
		release                   string
		version, revision, source string
		modified                  bool
	}{
		{nil, "", "unknown", "", "unknown", false},
		{checkout, "", "(devel)", "0123abc", "0123abc, with changes", true},
		{checkout, "v2.0.0", "v2.0.0", "0123abc", "0123abc, with changes", true},
		{installed, "", "v1.2.3", "", "v1.2.3", false},
	} {
		got := describe(c.record, c.release)
		if got.Version != c.version || got.Revision != c.revision || got.Modified != c.modified ||
			got.Source() != c.source {
			t.Errorf("describe(%v, %q) = %+v, source %q", c.record, c.release, got, got.Source())
		}
	}
}
