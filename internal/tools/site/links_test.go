package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"proactivedp/internal/tools/checkout"
)

// parsed holds the link targets in a page, the links of the page, and the levels of its headings.
type parsed struct {
	ids    map[string]bool
	links  []string
	levels []int
}

// outline reports headings in the wrong order: the page must begin with its only heading of level one,
// and levels must not be skipped.
func (p *parsed) outline() error {
	at := 0
	for i, level := range p.levels {
		if level > at+1 || level == 1 && i > 0 {
			return fmt.Errorf("a heading of level %d follows one of level %d", level, at)
		}
		at = level
	}
	if at == 0 {
		return errors.New("the page has no heading")
	}
	return nil
}

// tally counts what was checked.
type tally struct{ pages, inner, outer int }

// check follows every link of the site, to files and to headings in them. Links to other hosts are only
// parsed. It reports broken links, duplicate names in a page, headings in the wrong order, and pages to
// which no link leads.
func check(files checkout.Tree) (tally, error) {
	var t tally
	var errs []error
	pages := map[string]*parsed{}
	for name, text := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		p, err := parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if ours(text) {
			if err := p.outline(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
		pages[name] = p
	}
	t.pages = len(pages)
	reached := map[string]bool{home: true}
	for name, p := range pages {
		for _, link := range p.links {
			to, err := follow(files, pages, name, link)
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("%s: link %.80q: %w", name, link, err))
			case to == "":
				t.outer++
			default:
				t.inner++
				reached[to] = reached[to] || to != name
			}
		}
	}
	for name := range files {
		if !reached[name] {
			errs = append(errs, fmt.Errorf("%s: no page links to it", name))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return t, errors.Join(errs...)
}

// follow returns the file that a link of a page leads to, or "" for a link to another host.
func follow(files checkout.Tree, pages map[string]*parsed, from, link string) (string, error) {
	target, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	switch {
	case target.Scheme == "data":
		return from, nil
	case target.IsAbs():
		if target.Scheme != "https" && target.Scheme != "http" || target.Host == "" || strings.ContainsAny(link,
			" \t\n") {
			return "", errors.New("it is not the address of a web page")
		}
		return "", nil
	case target.Host != "" || strings.HasPrefix(target.Path, "/"):
		return "", errors.New("it leads out of the site's folder")
	}
	to := from
	if target.Path != "" {
		to = path.Join(path.Dir(from), target.Path)
	}
	if _, there := files[to]; !there {
		return "", fmt.Errorf("there is no file %s", to)
	}
	if target.Fragment == "" {
		return to, nil
	}
	if p := pages[to]; p == nil || !p.ids[target.Fragment] {
		return "", fmt.Errorf("%s has nothing named %q", to, target.Fragment)
	}
	return to, nil
}

// parse returns the names, links and headings of a page.
func parse(text []byte) (*parsed, error) {
	p := &parsed{ids: map[string]bool{}}
	var errs []error
	tokens := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return p, errors.Join(errs...) // the end: reading from memory has no other error
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := tokens.Token()
		if tag := token.Data; len(tag) == 2 && tag[0] == 'h' && tag[1] >= '1' && tag[1] <= '6' {
			p.levels = append(p.levels, int(tag[1]-'0'))
		}
		for _, a := range token.Attr {
			switch a.Key {
			case "id":
				if p.ids[a.Val] || a.Val == "" {
					errs = append(errs, fmt.Errorf("the name %q appears twice, or is empty", a.Val))
				}
				p.ids[a.Val] = true
			case "href", "src":
				p.links = append(p.links, a.Val)
			}
		}
	}
}
