//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fault is a fault in one line. It is stored by the text of the line and not by its number, so that
// it is found again after the code around it has changed.
type fault struct {
	Name    string `json:"name"`    // to refer to the fault
	Package string `json:"package"` // folder of the package from the root of the module
	File    string `json:"file"`
	// In is the function or the method that contains the line, or empty for a declaration of the
	// package. Nth, from 0, says which of the lines with this text it is.
	In     string `json:"in"`
	Nth    int    `json:"nth,omitempty"`
	Kind   string `json:"kind"`
	Before string `json:"before"` // the line, without the white space around it
	After  string `json:"after"`
	// Red is the test that must find the fault, "package Test". If it is empty, all tests of the
	// package run.
	Red string `json:"red,omitempty"`
	// Equivalent says why no test can find the fault, or is empty.
	Equivalent string `json:"equivalent,omitempty"`
}

// list is the content of the file of faults.
type list struct {
	Note   string  `json:"note,omitempty"`
	Faults []fault `json:"faults"`
}

func readList(file string) (list, error) {
	var l list
	text, err := os.ReadFile(file)
	if err != nil {
		return l, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

var errGone = errors.New("its line is no longer in the source: change the fault, or delete it")

// plant returns the path of the source file that contains the line, and its text with the fault. If
// the function has moved to another file of the package, plant finds it there.
func (f fault) plant(dir string) (path, faulty string, err error) {
	folder := filepath.Join(dir, f.Package)
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", "", err
	}
	own := filepath.Join(folder, f.File)
	files = slices.DeleteFunc(files,
		func(path string) bool { return strings.HasSuffix(path, "_test.go") || path == own })
	for _, path := range append([]string{own}, files...) {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		faulty, err := f.in(string(text))
		if errors.Is(err, errGone) {
			continue
		}
		return path, faulty, err
	}
	return "", "", errGone
}

// in returns the text of a file with the fault, or errGone if the line is not there.
func (f fault) in(text string) (string, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	nth := 0
	for _, d := range parsed.Decls {
		if nameOf(d) != f.In {
			continue
		}
		for at := fset.Position(d.Pos()).Line - 1; at < fset.Position(d.End()).Line; at++ {
			trimmed := strings.TrimSpace(lines[at])
			if trimmed != f.Before {
				continue
			}
			if nth == f.Nth {
				lines[at] = strings.Replace(lines[at], trimmed, f.After, 1)
				return strings.Join(lines, ""), nil
			}
			nth++
		}
	}
	return "", errGone
}

// nameOf returns the name of a function, or T.f for a method. For any other declaration it returns
// "".
func nameOf(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"), "[")
	return receiver + "." + f.Name.Name
}
