// Package web is the planner as a page: in one file that needs nothing else, or from a
// server on this machine. Both have the same text, style and script; in the file the
// questions of package answer are answered by the planner as WebAssembly, in workers of
// the browser, and by the server natively.
//
// [Compile] and [Page] make the file, [Server] serves.
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

// scripts are the files of the page's own script, in their order: they share one scope.
var scripts = []string{"numbers.js", "question.js", "ask.js", "charts.js", "view.js", "main.js"}

// chartScript is what the page has of others, with its licences: see npm/build.mjs.
const chartScript = "plot.js"

// read returns an embedded file, which is there.
func read(name string) string {
	text, err := static.ReadFile("static/" + name)
	if err != nil {
		panic("web: " + err.Error()) // a file of this package's own list
	}
	return string(text)
}

// pageScript is the script of the page.
func pageScript() string {
	var all strings.Builder
	all.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range scripts {
		all.WriteString(read(name))
	}
	all.WriteString("})();\n")
	return all.String()
}

// pageText puts the head and the scripts into the page.
func pageText(head, foot string) []byte {
	page := strings.Replace(read("index.html"), "<!--head-->", head, 1)
	return []byte(strings.Replace(page, "<!--scripts-->", foot, 1))
}

// Planner is the planner as WebAssembly, and what goes with it.
type Planner struct {
	Wasm     []byte // the program of web/internal/planner
	Loader   []byte // wasm_exec.js of the Go that compiled it
	Version  string // which build it is of
	Licences []byte // the licences of all that it is made of
}

// Page returns the planner as one HTML file without a link to anything: it works from a
// file and without a network. Its policy of content lets it load nothing, and run no
// script but its own.
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
			return nil, fmt.Errorf("the %s has the end of a script in it, and cannot stand in a page", name)
		}
	}
	policy := strings.Join([]string{
		"default-src 'none'", "base-uri 'none'", "form-action 'none'", "worker-src blob:", "img-src data:",
		"style-src " + digest(style),
		// The worker is made of text in the page, and has its policy from it.
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

// generator is what stands before a page's version.
const generator = `<meta name="generator" content="proactivedp `

// PageVersion returns the version that [Page] put into a page; "" if it made none such.
func PageVersion(page []byte) string {
	_, after, found := bytes.Cut(page, []byte(generator))
	version, _, ended := bytes.Cut(after, []byte(`"`))
	if !found || !ended {
		return ""
	}
	return html.UnescapeString(string(version))
}

// digest is how a policy names a script or style that stands in the page.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// packed compresses, always to the same bytes.
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

// servedPage is the page that a server gives, of which style and scripts have addresses of
// their own; sets are the data sets that it proposes settings for.
func servedPage(sets []string) ([]byte, error) {
	names, err := json.Marshal(sets) // which escapes < and >
	if err != nil {
		return nil, err
	}
	return pageText(`<link rel="stylesheet" href="page.css">`,
		`<script type="application/json" id="planner-sets">`+string(names)+`</script>
<script src="`+chartScript+`"></script>
<script src="page.js"></script>`), nil
}
