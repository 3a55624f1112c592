package lint

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateLicences = flag.Bool("update-licences", false, "write the licences of third parties anew")

const licencesFile = "THIRD_PARTY_LICENSES"

// licenceName is of files, and of folders of files, that state a licence.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notice|patents|third_party_licenses)([.-].*)?$`)

// releasedModule is a module that is part of a released program.
type releasedModule struct{ path, version, dir string }

// thirdParties lists the modules that the program is made of on the platforms of a
// release, those of its tests and tools not among them.
func thirdParties(t *testing.T) []releasedModule {
	t.Helper()
	seen := map[releasedModule]bool{}
	for _, system := range []string{"darwin", "linux", "windows"} {
		list := exec.Command(
			"go",
			"list",
			"-deps",
			"-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}",
			module+"/cmd/proactivedp",
		)
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		list.Dir = "../.."
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for line := range strings.SplitSeq(string(out), "\n") {
			fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
			if len(fields) == 3 {
				seen[releasedModule{fields[0], fields[1], fields[2]}] = true
			} else if len(fields) == 2 {
				t.Skipf("needs %s %s in the module cache: go mod download", fields[0], fields[1])
			}
		}
	}
	var all []releasedModule
	for p := range seen {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b releasedModule) int { return strings.Compare(a.path, b.path) })
	return all
}

// licences returns the texts that a module states its licence by, with their names.
func licences(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !licenceName.MatchString(strings.Split(filepath.ToSlash(name), "/")[0]) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(
			&out,
			"---- %s\n\n%s\n\n",
			filepath.ToSlash(name),
			bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))),
		)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// chartLicences returns what the script with the charts of the planner page states of the
// packages that it is made of.
func chartLicences(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(repository, "web", "static", "plot.js"))
	if err != nil {
		t.Fatal(err)
	}
	banner, _, found := strings.Cut(strings.TrimPrefix(string(script), "/*! "), "*/")
	if !found {
		t.Fatal("web/static/plot.js states no licences")
	}
	return banner
}

// The file of third-party licences lists every module of the released programs with its version, and the
// texts that its licence requires.
func TestLicencesOfThirdPartiesAreComplete(t *testing.T) {
	var want strings.Builder
	want.WriteString(
		"Licences of what the program proactivedp is made of beside its own source, which is\n" +
			"under the licence in LICENSE. Written by\n" +
			"go test ./internal/lint -run Licences -update-licences\n\n",
	)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	texts := map[string]string{"Go's standard library": licences(t, strings.TrimSpace(string(goroot)))}
	if texts["Go's standard library"] == "" {
		t.Skip("needs a Go that comes with its licence")
	}
	names := []string{"Go's standard library"}
	for _, p := range thirdParties(t) {
		name := p.path + " " + p.version
		names, texts[name] = append(names, name), licences(t, p.dir)
	}
	const charts = "the packages of npm in web/static/plot.js"
	names, texts[charts] = append(names, charts), chartLicences(t)
	for _, name := range names {
		fmt.Fprintf(&want, "- %s\n", name)
		if texts[name] == "" {
			t.Errorf("%s states no licence", name)
		}
	}
	for _, name := range names {
		fmt.Fprintf(&want, "\n======== %s\n\n%s", name, texts[name])
	}
	path := filepath.Join("..", "..", licencesFile)
	if *updateLicences {
		if err := os.WriteFile(path, []byte(want.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	has, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(string(has), "\n======== "+name+"\n\n"+texts[name]) {
			t.Errorf(
				"%s lacks %s, or has another text of it: go test ./internal/lint -run Licences -update-licences",
				licencesFile,
				name,
			)
		}
	}
	if string(has) != want.String() && !t.Failed() {
		t.Errorf(
			"%s has more than the program is made of: go test ./internal/lint -run Licences -update-licences",
			licencesFile,
		)
	}
}
