package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"proactivedp/internal/checkout"
	"proactivedp/internal/files"
)

// home is the path without a public home, which renaming leads back to.
const home = "proactivedp"

// rename gives the module in dir the path to, and returns the names of the files
// that it changed. It changes all of them or none, and only if renaming back
// would give the same bytes. A working tree of git must be clean.
func rename(dir, to string) ([]string, error) {
	if err := checkPath(to); err != nil {
		return nil, err
	}
	// In a clean tree the renaming can be looked at, and taken back, by itself.
	if err := checkout.Clean(dir); err != nil {
		return nil, err
	}
	files, err := checkout.Read(dir)
	if err != nil {
		return nil, err
	}
	old := tree(files)
	from := modfile.ModulePath(old["go.mod"])
	switch from {
	case "":
		return nil, fmt.Errorf("%s: no go.mod with the path of a module", dir)
	case to:
		return nil, fmt.Errorf("MODULE = %q, is the module's path already", to)
	}
	renamed, err := old.rename(from, to)
	if err != nil {
		return nil, err
	}
	back, err := renamed.rename(to, from)
	if err != nil {
		return nil, err
	}
	var names []string
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if !bytes.Equal(back[name], old[name]) {
			errs = append(errs, fmt.Errorf("%s: renaming from %s to %s and back would not give the same bytes", name,
				from, to))
		}
		if !bytes.Equal(renamed[name], old[name]) {
			names = append(names, name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return names, write(dir, names, old, renamed)
}

// checkPath refuses what others could not require as a module.
func checkPath(to string) error {
	if to == home {
		return nil
	}
	if err := module.CheckPath(to); err != nil {
		return fmt.Errorf("MODULE = %q, must be a module path such as example.org/you/proactivedp, or %s: %w", to, home,
			err)
	}
	if _, major, _ := module.SplitPathVersion(to); major != "" {
		return fmt.Errorf("MODULE = %q, must be without the suffix %q of a major version", to, major)
	}
	return nil
}

// tree is the contents of the repository's files.
type tree checkout.Tree

// rename returns the tree with the module's path changed.
func (t tree) rename(from, to string) (tree, error) {
	r := newRenamer(t, from, to)
	renamed := make(tree, len(t))
	var errs []error
	for name, content := range t {
		var err error
		switch {
		case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0: // the file is a picture or an archive
			renamed[name] = content
		case path.Base(name) == "go.mod":
			renamed[name], err = r.modFile(name, content)
		case path.Ext(name) == ".go":
			renamed[name], err = r.source(name, content)
		default:
			renamed[name] = r.text(content)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return renamed, errors.Join(errs...)
}

// write puts the renamed files in the place of the old ones. All of them are on
// the disk before the first takes its place.
func write(dir string, names []string, old, renamed tree) error {
	var all []replacement
	defer func() {
		for _, r := range all {
			r.file.Discard()
		}
	}()
	for _, name := range names {
		r := replacement{path: filepath.Join(dir, filepath.FromSlash(name)), old: old[name]}
		var err error
		if r.file, err = stage(r.path, renamed[name]); err != nil {
			return err
		}
		all = append(all, r)
	}
	return commit(all)
}

// replacement is a file's new content, on the disk beside the file.
type replacement struct {
	path string
	old  []byte
	file *files.File
}

// commit puts all replacements in their places. If one cannot be, those before
// it are given their old contents again.
func commit(all []replacement) error {
	for i, r := range all {
		err := r.file.Commit()
		if err == nil {
			continue
		}
		for _, done := range all[:i] {
			f, bad := stage(done.path, done.old)
			if bad == nil {
				bad = f.Commit()
			}
			err = errors.Join(err, bad)
		}
		return err
	}
	return nil
}

// stage writes what is to take the place of the file, with its mode.
func stage(path string, content []byte) (*files.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f, err := files.Create(path)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(content); err == nil {
		err = os.Chmod(f.Name(), info.Mode())
	}
	if err != nil {
		f.Discard()
		return nil, err
	}
	return f, nil
}
