//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"proactivedp/rng"
)

// startFlips flips bits in files that the program reads back, and cuts and lengthens them:
// checkpoints, finished cells and manifests. The program must notice it, or give the same result.
func startFlips(a *attacker) (func(*rng.Stream) error, error) {
	var all []*flipped
	for _, w := range works {
		switch w.name {
		case "train, kept", "train, of a file", "search", "delay", "figures":
		default:
			continue
		}
		want, _, err := a.once(w)
		if err != nil {
			return nil, err
		}
		f := &flipped{
			work:  w,
			want:  want,
			dir:   filepath.Join(a.dir, strings.ReplaceAll(w.name, " ", "-")),
			files: map[string][]byte{},
		}
		// The files of the undisturbed run are damaged.
		if err := os.Rename(filepath.Join(a.dir, "undisturbed"), f.dir); err != nil {
			return nil, err
		}
		err = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			f.files[path] = text
			switch filepath.Ext(path) {
			case ".json", ".checkpoint":
				f.targets = append(f.targets, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return func(r *rng.Stream) error { return pickWork(r, all).flip(a, r) }, nil
}

// flipped is a finished work whose files are damaged.
type flipped struct {
	work
	dir     string
	want    map[string]string
	files   map[string][]byte // everything that it wrote, by path
	targets []string          // which of them the program reads
}

func (f *flipped) flip(a *attacker, r *rng.Stream) error {
	path := pick(r, f.targets)
	text := bytes.Clone(f.files[path])
	switch r.IntN(6) {
	case 0:
		text = text[:r.IntN(len(text))]
	case 1:
		text = append(text, byte(r.IntN(256)))
	default:
		for range 1 + r.IntN(2) {
			text[r.IntN(len(text))] ^= 1 << r.IntN(8)
		}
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		return err
	}
	e, err := a.run(f.dir, mayWork, 0, f.args(f.dir)...)
	if err == nil {
		switch e.status {
		case 0:
			err = f.same(f.dir, e, f.want)
		case 1, 2:
		default:
			err = e.fault("%s with a damaged %s", f.name, path)
		}
	}
	if again := f.repair(); err == nil {
		err = again
	}
	return err
}

// repair restores the files as they were written, and removes all others.
func (f *flipped) repair() error {
	if err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || f.files[path] != nil {
			return err
		}
		return os.Remove(path)
	}); err != nil {
		return err
	}
	for path, text := range f.files {
		if err := os.WriteFile(path, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
