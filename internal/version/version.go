// Package version describes the build of the running program: its version, the revision of its
// source, and the Go version and platform for which it was compiled.
package version

import (
	"runtime"
	"runtime/debug"
)

// release is the version of this program if it was built for a release, and otherwise "". The
// linker sets it (internal/tools/release).
var release string

// Info describes a build.
type Info struct {
	// Version is the version of the release, or of the module as installed. For a build from a
	// checkout, it is what Go derives from tags, or "(devel)".
	Version string `json:"version"`
	// Revision is the commit that was built. It is "" if the build did not record it.
	Revision string `json:"revision,omitempty"`
	// Modified says whether the source differed from Revision.
	Modified bool   `json:"modified"`
	Go       string `json:"go"` // version of the compiler, such as go1.26.0
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Get describes the build of the running program.
func Get() Info {
	info, _ := debug.ReadBuildInfo()
	return describe(info, release)
}

// describe returns the Info for a build's record, which may be nil, and the version that the linker
// set.
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

// Source names the source of the program for manifests: the revision, or the version if no revision was recorded. It
// says so if the source was modified.
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
