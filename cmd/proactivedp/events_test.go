package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// listedEvents returns the keys of each event of a list, such as testdata/keys/events.txt.
func listedEvents(text string) map[string][]string {
	all := map[string][]string{}
	event := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		key, isKey := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isKey:
			all[event] = append(all[event], key)
		default:
			event = line
			all[event] = nil
		}
	}
	return all
}

// loggedEvents returns the events that the code below the folders logs, with their keys.
func loggedEvents(t *testing.T, dirs ...string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	literal := func(e ast.Expr) string {
		l, ok := e.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return ""
		}
		text, err := strconv.Unquote(l.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	look := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, f.Sel.Name) {
			return true
		}
		switch of := f.X.(type) {
		case *ast.SelectorExpr:
			if of.Sel.Name != "log" {
				return true
			}
		case *ast.Ident:
			if of.Name != "log" {
				return true
			}
		default:
			return true
		}
		var keys []string
		for i := 1; i < len(call.Args); i += 2 {
			keys = append(keys, literal(call.Args[i]))
		}
		all[literal(call.Args[0])] = append(all[literal(call.Args[0])], keys...)
		return true
	}
	visit := func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			ast.Inspect(file, look)
		}
		return err
	}
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, visit); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// The list of events is that of the code, and each is described in the documentation: keys may
// be added, none removed.
func TestEventsAreListed(t *testing.T) {
	list, err := os.ReadFile("testdata/keys/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, logged := listedEvents(string(list)), loggedEvents(t, "../../cluster", "../../internal/sweep")
	if len(logged) < 30 {
		t.Errorf("%d events are logged, want 30 or more", len(logged))
	}
	for event, keys := range logged {
		for _, key := range keys {
			if !slices.Contains(listed[event], key) {
				t.Errorf("the event %q has the key %q, which is not in testdata/keys/events.txt", event, key)
			}
		}
	}
	for event, keys := range listed {
		for _, key := range keys {
			if !slices.Contains(logged[event], key) {
				t.Errorf("the event %q lost its key %q", event, key)
			}
		}
		if _, there := logged[event]; !there || !strings.Contains(strings.Join(strings.Fields(string(page)), " "),
			"`"+event+"`") {
			t.Errorf("the event %q is gone, or docs/metrics.md does not list it", event)
		}
	}
}

// checkEvents is "events LIST FILE EVENT… ": every line of the file is an event of the list, with
// all of its keys that it always has, and each of the events is there.
func checkEvents(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: events LIST FILE EVENT…")
	}
	listed := listedEvents(ts.ReadFile(args[0]))
	seen := map[string]bool{}
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			ts.Fatalf("%s: %v: %s", args[1], err, line)
		}
		name, _ := event["msg"].(string)
		keys, there := listed[name]
		if !there || event["time"] == nil || event["level"] == nil {
			ts.Fatalf("%s: no event of the list: %s", args[1], line)
		}
		for _, key := range keys {
			if _, has := event[key]; !has {
				ts.Fatalf("%s: the key %s is gone: %s", args[1], key, line)
			}
		}
		seen[name] = true
	}
	for _, event := range args[2:] {
		if !seen[event] {
			ts.Fatalf("%s: no event %q", args[1], event)
		}
	}
}
