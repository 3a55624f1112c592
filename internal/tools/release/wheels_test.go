package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Two versions never have one name, so a pre-release for which Python has no name is refused.
func TestPreReleasesOfWheels(t *testing.T) {
	for version, good := range map[string]bool{"v1.2.3": true, "v1.3.0-rc.1": true, "v1.3.0-alpha.0": true, "v1.2.3-1": false,
		"v1.3.0-rc.1.2": false, "v1.3.0-rc1": false, "v1.3.0-next.1": false} {
		if err := checkPre(version); (err == nil) != good {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// A wheel has the sources, the program, which may be run, the metadata and the licences, and its RECORD has the
// digest of each (Binary distribution format, Python Packaging User Guide). It is the same twice.
func TestWheel(t *testing.T) {
	linux := target{"linux", "amd64"}
	parts, err := linux.parts("../../..", "1.2.3", []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	wheel, err := zipped(parts)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := zipped(parts); err != nil || !bytes.Equal(again, wheel) {
		t.Errorf("another wheel the second time, %v", err)
	}
	archive, err := zip.NewReader(bytes.NewReader(wheel), int64(len(wheel)))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	record := ""
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		content[f.Name] = string(text)
		sum := sha256.Sum256(text)
		if strings.HasSuffix(f.Name, "/RECORD") {
			record += f.Name + ",,\n"
		} else {
			record += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
		}
		if runs := f.Mode().Perm()&0o111 != 0; runs != strings.Contains(f.Name, "/bin/") {
			t.Errorf("%s has the mode %v", f.Name, f.Mode())
		}
	}
	const about = "proactivedp-1.2.3.dist-info/"
	for name, want := range map[string]string{
		"proactivedp/__init__.py":               "import",
		"proactivedp/py.typed":                  "",
		"proactivedp/bin/proactivedp":           "program",
		about + "METADATA":                      "Name: proactivedp\nVersion: 1.2.3\n",
		about + "WHEEL":                         "Tag: py3-none-manylinux2014_x86_64\nTag: py3-none-musllinux_1_1_x86_64\n",
		about + "entry_points.txt":              "proactivedp = proactivedp.__main__:main",
		about + "licenses/LICENSE":              "MIT",
		about + "licenses/THIRD_PARTY_LICENSES": "Licences",
		about + "RECORD":                        record,
	} {
		if got, ok := content[name]; !ok || !strings.Contains(got, want) {
			t.Errorf("%s is %.200q, want %q in it", name, got, want)
		}
	}
}

func TestWheelVersion(t *testing.T) {
	for version, want := range map[string]string{"": "0.dev0", "v1.2.3": "1.2.3", "v1.3.0-rc.1": "1.3.0rc1",
		"v1.3.0-beta.2": "1.3.0b2"} {
		if got := wheelVersion(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

func TestEveryTargetHasAWheel(t *testing.T) {
	for _, of := range targets {
		if len(wheelTags[of]) == 0 {
			t.Errorf("%v has no tag", of)
		}
	}
}
