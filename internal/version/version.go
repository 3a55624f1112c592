// Package version says which build of the program is running: its version, the
// revision of its source, and the Go and the platform it was compiled for.
package version

import (
	"runtime"
	"runtime/debug"
)

// release is the version of a release. The linker sets it (internal/tools/release).
var release string

// Info describes a build.
type Info struct {
	// Version is that of the release or of the module as it was installed; of
	// a build from a checkout, what Go makes of its tags, or "(devel)".
	Version string `json:"version"`
	// Revision is the commit that was built, "" if the build did not record it.
	Revision string `json:"revision,omitempty"`
	// Modified reports that the source differed from Revision.
	Modified bool   `json:"modified"`
	Go       string `json:"go"` // version of the compiler, such as go1.26.0
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Get returns the description of the running program.
func Get() Info {
	info, _ := debug.ReadBuildInfo()
	return describe(info, release)
}

// describe reads a build's record, which is nil if there is none, and the
// version that the linker set.
func describe(record *debug.BuildInfo, release string) Info {
	i := Info{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if record != nil {
		i.Version = record.Main.Version
		for _, s := range record.Settings {
			switch s.Key {
			case "vcs.revision":
				i.Revision = s.Value
			case "vcs.modified":
				i.Modified = s.Value == "true"
			}
		}
	}
	if release != "" {
		i.Version = release
	}
	return i
}

// Source returns the revision, or the version where the build recorded none, with a
// remark if the source differed from it: what a manifest says of its program.
func (i Info) Source() string {
	source := i.Revision
	if source == "" {
		source = i.Version
	}
	if i.Modified {
		source += ", with changes"
	}
	return source
}
