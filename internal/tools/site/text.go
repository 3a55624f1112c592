package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"regexp"
	"strconv"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"proactivedp/internal/report"
)

// markdown turns the repository's pages into HTML. It keeps HTML in the pages.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithRendererOptions(html.WithUnsafe()))

// heading is an entry of the contents of a page.
type heading struct {
	Level       int
	Title, Name string
}

// addText adds the page of a Markdown file.
func (s *site) addText(name string) {
	source := s.tree[name]
	document := markdown.Parser().Parse(text.NewReader(source))
	p := page{at: pageOf(name), from: name}
	p.title, p.contents = headings(document, source)
	if p.title == "" {
		s.fail(name, errors.New("the page has no heading of the first level"))
	}
	s.redirect(document, source, name)
	var out bytes.Buffer
	s.fail(name, markdown.Renderer().Render(&out, source, document))
	p.body = template.HTML(report.Reachable(out.String(), p.title))
	s.add(p)
}

// headings gives every heading the name that links use. It returns the page's title and the headings of
// level two and three.
func headings(document ast.Node, source []byte) (title string, contents []heading) {
	taken := map[string]int{}
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		h, is := node.(*ast.Heading)
		if !is {
			continue
		}
		words := wordsOf(h, source)
		name := report.Anchor(words)
		taken[name]++
		if n := taken[name]; n > 1 {
			name += "-" + strconv.Itoa(n-1)
		}
		h.SetAttributeString("id", []byte(name))
		switch {
		case h.Level == 1 && title == "":
			title = words
		case h.Level == 2 || h.Level == 3:
			contents = append(contents, heading{h.Level, words, name})
		}
	}
	return title, contents
}

func wordsOf(node ast.Node, source []byte) string {
	var words bytes.Buffer
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			words.Write(child.Segment.Value(source))
		case *ast.String:
			words.Write(child.Value)
		default:
			words.WriteString(wordsOf(child, source))
		}
	}
	return words.String()
}

// rawPicture is a picture in HTML within Markdown, as the index of results has them.
var rawPicture = regexp.MustCompile(`^<img src="([^"]+)"`)

// redirect changes the links and pictures of a page to their addresses in the site.
func (s *site) redirect(document ast.Node, source []byte, name string) {
	err := ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var to *[]byte
		switch node := node.(type) {
		case *ast.Link:
			to = &node.Destination
		case *ast.Image:
			to = &node.Destination
		case *ast.RawHTML:
			for i := range node.Segments.Len() {
				at := node.Segments.At(i)
				if picture := rawPicture.FindSubmatch(at.Value(source)); picture != nil {
					_, err := s.address(name, string(picture[1])) // which stays, as the picture has its place
					s.fail(name, err)
				}
			}
			return ast.WalkContinue, nil
		default:
			return ast.WalkContinue, nil
		}
		address, err := s.address(name, string(*to))
		s.fail(name, err)
		*to = []byte(address)
		return ast.WalkContinue, nil
	})
	s.fail(name, err)
}

// address returns the address in the site for a link in a file of the tree.
func (s *site) address(name, link string) (string, error) {
	target, err := url.Parse(link)
	if err != nil {
		return "", fmt.Errorf("link %q: %w", link, err)
	}
	if target.IsAbs() || target.Path == "" {
		return link, nil
	}
	at, err := s.placeOf(path.Join(path.Dir(name), target.Path))
	if err != nil {
		return "", fmt.Errorf("link %q: %w", link, err)
	}
	out := url.URL{Path: relative(pageOf(name), at), Fragment: target.Fragment}
	return out.String(), nil
}
