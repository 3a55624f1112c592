// Package web makes a web page of the planner, which computes how much noise, how many steps and which batch size a
// training with a privacy budget needs (package answer). The page is either one HTML file that needs nothing else, or
// a page from a server on this machine. Both have the same text, style and scripts. The file contains the planner as
// WebAssembly, which answers questions in the browser. The server answers them in its own process.
//
// [Compile] and [Page] make the file, and [Server] serves the page.
//
// # The page inside the program
//
// make build and make release write the page to made/planner.html and build the program with the tag "page", which
// embeds it; see [Made]. A build without the tag embeds no page.
//
// The page is not committed, because it is made from the source. It has 1.6 MB compressed and changes with each
// change of an accountant and with each Go version. The repository would grow with each change, and branches could
// not be merged.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

//go:embed static
var static embed.FS

// scripts are the page's own scripts, in order. They share one scope.
var scripts = []string{"numbers.js", "question.js", "ask.js", "charts.js", "view.js", "main.js"}

// chartScript is the third-party code of the page, with its licences, see npm/build.mjs.
const chartScript = "plot.js"

// read returns an embedded file, which must exist.
func read(name string) string {
	text, err := static.ReadFile("static/" + name)
	if err != nil {
		panic("web: " + err.Error()) // the name comes from this package
	}
	return string(text)
}

// pageScript joins the page's own scripts. It removes indentation and comment lines, which makes
// the page 5 KB smaller.
func pageScript() string {
	var all strings.Builder
	all.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		for line := range strings.Lines(read(name)) {
			if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "//") {
				all.WriteString(line)
			}
		}
	}
	all.WriteString("})();\n")
	return all.String()
}

func pageText(head, foot string) []byte {
	page := strings.Replace(read("index.html"), "<!--head-->", head, 1)
	return []byte(strings.Replace(page, "<!--scripts-->", foot, 1))
}

// Planner is the planner as WebAssembly, with everything that a page needs to run it. [Compile] makes one, and [Page]
// writes it as a page.
type Planner struct {
	Wasm     []byte // the planner, compiled from web/internal/planner
	Loader   []byte // wasm_exec.js of the Go version that compiled Wasm
	Version  string // version of the planner, which the page shows
	Licences []byte // licences of all software that Wasm contains
}

// Page returns the planner as one HTML file that works without other files and without a network. Its content
// security policy lets it load nothing, and run only its own scripts.
func Page(p Planner) ([]byte, error) {
	packed, err := packed(p.Wasm)
	if err != nil {
		return nil, err
	}
	worker := string(p.Loader) + "\n" + read("worker.js")
	charts, page, style := read(chartScript), pageScript(), read("page.css")
	for name, text := range map[string]string{"loader": worker, chartScript: charts, "script": page,
		"licences": string(p.Licences)} {
		if low := strings.ToLower(text); strings.Contains(low, "</script") || strings.Contains(low, "<!--") {
			return nil, fmt.Errorf("the %s contains the end tag of a script, which a page cannot contain", name)
		}
	}
	policy := strings.Join([]string{
		"default-src 'none'", "base-uri 'none'", "form-action 'none'", "worker-src blob:", "img-src data:",
		"style-src " + digest(style),
		// The worker is created from text in the page and inherits its policy.
		"script-src 'wasm-unsafe-eval' " + digest(charts) + " " + digest(page),
	}, "; ")
	head := fmt.Sprintf("<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n%s%s\">\n<style>%s</style>",
		html.EscapeString(policy), generator, html.EscapeString(p.Version), style)
	var foot bytes.Buffer
	data := func(id, text string) {
		fmt.Fprintf(&foot, "<script type=\"text/plain\" id=\"%s\">%s</script>\n", id, text)
	}
	data("planner-licences", string(p.Licences))
	data("planner-worker", worker)
	data("planner-wasm", base64.StdEncoding.EncodeToString(packed))
	fmt.Fprintf(&foot, "<script>%s</script>\n<script>%s</script>", charts, page)
	return pageText(head, foot.String()), nil
}

// Made returns the planner page that was embedded when the program was built, or nil if the build had no tag "page".
// It is a result of [Page], and [PageVersion] returns its version.
func Made() []byte { return made }

// generator comes before the version in a page.
const generator = `<meta name="generator" content="proactivedp `

// PageVersion returns the version (see [Compile]) that is written in page, a result of [Page]. It returns "" if page
// contains no version.
func PageVersion(page []byte) string {
	_, after, found := bytes.Cut(page, []byte(generator))
	version, _, ended := bytes.Cut(after, []byte(`"`))
	if !found || !ended {
		return ""
	}
	return html.UnescapeString(string(version))
}

// digest returns the name of an inline script or style in a content security policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// packed compresses text, always to the same bytes.
func packed(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// servedPage returns the page of a server, which loads style and scripts from separate addresses. sets
// are the data sets for which it proposes settings.
func servedPage(sets []string) ([]byte, error) {
	names, err := json.Marshal(sets) // escapes < and >
	if err != nil {
		return nil, err
	}
	return pageText(`<link rel="stylesheet" href="page.css">`,
		`<script type="application/json" id="planner-sets">`+string(names)+`</script>
<script src="`+chartScript+`"></script>
<script src="page.js"></script>`), nil
}
