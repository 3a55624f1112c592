//go:build unix

package results

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"proactivedp/internal/bounded"
)

// secret is what a folder that somebody else made must not bring into a page.
const secret = "-----BEGIN PRIVATE KEY-----"

// A folder that somebody else made leads out by links, and has pipes, devices and texts of another
// kind where files must be. None of it is read into the page, none is followed and none waited for:
// each is an error that names the file.
func TestFoldersOfOthersLeadNowhere(t *testing.T) {
	link := func(to string) func(string) error { return func(at string) error { return os.Symlink(to, at) } }
	pipe := func(at string) error { return syscall.Mkfifo(at, 0o600) }
	outside := t.TempDir()
	write(t, secret, outside, "key")
	write(t, "# Key\n\n"+secret+"\n", outside, "README.md")
	write(t, secret, outside, "data.csv")
	for name, c := range map[string]struct {
		at   string
		make func(at string) error
	}{
		"picture of a figure":    {"a-figure/figure.png", link(filepath.Join(outside, "key"))},
		"picture of a page":      {"search-a/curve.png", link(filepath.Join(outside, "key"))},
		"page":                   {"search-a/README.md", link(filepath.Join(outside, "README.md"))},
		"page beside":            {"bench.md", link(filepath.Join(outside, "README.md"))},
		"table":                  {"a-figure/data.csv", link(filepath.Join(outside, "data.csv"))},
		"manifest":               {"a-figure/manifest.json", link(filepath.Join(outside, "key"))},
		"link within the folder": {"a-figure/figure.png", link("../search-a/curve.png")},
		"pipe as a picture":      {"a-figure/figure.png", pipe},
		"pipe as a page":         {"search-a/README.md", pipe},
		"pipe as a page beside":  {"bench.md", pipe},
		"pipe as a table":        {"a-figure/data.csv", pipe},
		"pipe as a manifest":     {"a-figure/manifest.json", pipe},
		"endless":                {"search-a/curve.png", link("/dev/zero")},
	} {
		dir := results(t)
		at := filepath.Join(dir, filepath.FromSlash(c.at))
		if err := errors.Join(os.Remove(at), c.make(at)); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPage(dir)
		if err == nil {
			var out bytes.Buffer
			if err := p.Write(&out); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			t.Errorf("%s: read; the secret is in the page: %v", name, strings.Contains(text, secret) ||
				strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))))
			continue
		}
		if !errors.Is(err, bounded.ErrNotPlain) || !strings.Contains(err.Error(), at) {
			t.Errorf("%s: %v, want that %s must be a regular file", name, err, c.at)
		}
	}
}

// A link in the place of a whole folder is not followed either.
func TestLinkedFolders(t *testing.T) {
	dir, outside := results(t), results(t)
	at := filepath.Join(dir, "phishing-logreg-epsilon") // which verdicts look for
	if err := os.Symlink(filepath.Join(outside, "a-figure"), at); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPage(dir); !errors.Is(err, bounded.ErrNotPlain) {
		t.Errorf("%v, want that a link to a folder is not followed", err)
	}
}

// What is called a picture is one, to its end: no text under another name, no beginning of one.
func TestPicturesArePictures(t *testing.T) {
	whole := pixel(t)
	for name, content := range map[string]string{"text": secret, "beginning": whole[:40] + secret, "nothing": "",
		"svg":      `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`,
		"enormous": whole[:16] + "\x7f\xff\xff\xff\x7f\xff\xff\xff" + whole[24:]} {
		for _, at := range []string{"a-figure/figure.png", "search-a/curve.png"} {
			dir := results(t)
			write(t, content, dir, at)
			if _, err := ReadPage(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, at)) {
				t.Errorf("%s as %s: %v, want an error that names it", name, at, err)
			}
			if _, err := ReadPage(dir); errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
	}
}

// Text of others with control characters, which can hide a true statement on a terminal or in a
// page, is refused wherever it stands.
func TestControlCharactersAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ at, old, new string }{
		"title":   {"a-figure/manifest.json", "A <b>", `A \u001b[2J<b>`},
		"reverse": {"a-figure/manifest.json", "A <b>", `A \u202e<b>`},
		"command": {"a-figure/manifest.json", "proactivedp figures", `proactivedp\nfigures`},
		"name":    {"a-figure/manifest.json", `"phishing"`, `"phish\u0007ing"`},
		"key":     {"a-figure/manifest.json", `"seeds": 2`, `"seeds": 2, "a\u001bb": 1`},
		"page":    {"search-a/README.md", "# Search", "# Sea\x1b[2Jrch"},
		"bidi":    {"search-a/README.md", "# Search", "# Sea\u202erch"},
		"entity":  {"search-a/README.md", "# Search", "# Sea&#x202e;rch"},
		"beside":  {"bench.md", "# Bench", "# Be\x9bnch"},
		"header":  {"a-figure/data.csv", "series,", "se\x1bries,"},
		"cell":    {"a-figure/data.csv", "private,", "pri\u2066vate,"},
		"lines":   {"a-figure/data.csv", "private,", "\"pri\nvate\","},
	} {
		dir := results(t)
		at := filepath.Join(dir, filepath.FromSlash(c.at))
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), c.old, c.new, 1)
		if changed == string(text) {
			t.Fatalf("%s: nothing was changed", name)
		}
		write(t, changed, at)
		if _, err := ReadPage(dir); err == nil || !strings.Contains(err.Error(), "printable") ||
			!strings.Contains(err.Error(), filepath.Base(filepath.Dir(at))) {
			t.Errorf("%s: %v, want an error that names the file and says what characters may be", name, err)
		}
	}
}

// The name of a folder or of a page is text of others too.
func TestNamesArePrintable(t *testing.T) {
	for _, name := range []string{"be\u202ench.md", "sea\x1b[2Jrch/README.md"} {
		dir := results(t)
		write(t, "# Bench\n", dir, name)
		if _, err := ReadPage(dir); err == nil || !strings.Contains(err.Error(), "printable") {
			t.Errorf("%q: %v, want that it is refused", name, err)
		}
	}
}
