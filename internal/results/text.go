package results

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"proactivedp/internal/bounded"
	"proactivedp/internal/message"
	"proactivedp/internal/report"
)

// markdown turns pages into HTML. It drops HTML in the pages.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

// addText adds a Markdown page to p. path is the page's path, relative to the folder dir.
func (p *Page) addText(dir, path string) error {
	content, err := bounded.Within(dir, path, maxText)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := markdown.Convert(content, &out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// The HTML is checked instead of the Markdown, because &#x202e; is a character in Markdown, too.
	if err := message.CheckPage(filepath.Join(dir, path), out.String()); err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(path), "/README.md"), ".md")
	text, err := contained(out.String(), name, dir, filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.texts = append(p.texts, prose{Name: name, Text: template.HTML(text), From: path})
	return nil
}

var (
	images   = regexp.MustCompile(`<img src="([^"]*)"`)
	links    = regexp.MustCompile(`(?s)<a href="[^"]*"[^>]*>(.*?)</a>`)
	headings = regexp.MustCompile(`<(/?)h([1-4])([^>]*)>`)
)

// contained makes the HTML of a page independent of other files. Pictures are embedded, and links to
// other files become text. Headings are moved two levels down, below the heading of the page's section,
// and wide parts can be scrolled by keyboard.
func contained(text, name, dir, folder string) (string, error) {
	var failed error
	text = images.ReplaceAllStringFunc(text, func(tag string) string {
		source := html.UnescapeString(images.FindStringSubmatch(tag)[1])
		file, err := url.PathUnescape(source)
		if err != nil || strings.Contains(file, "..") || filepath.IsAbs(file) || filepath.Ext(file) != ".png" {
			failed = errors.Join(failed, fmt.Errorf("picture %q, must be a PNG in the folder of the page", source))
			return tag
		}
		p, err := readPicture(dir, filepath.Join(folder, filepath.FromSlash(file)), "")
		failed = errors.Join(failed, err)
		return `<img src="` + string(p.Source) + `"`
	})
	text = links.ReplaceAllString(text, "$1")
	text = headings.ReplaceAllStringFunc(text, func(tag string) string {
		part := headings.FindStringSubmatch(tag)
		return fmt.Sprintf("<%sh%d%s>", part[1], int(part[2][0]-'0')+2, part[3])
	})
	return report.Reachable(text, name), failed
}
