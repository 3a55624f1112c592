// Package checkout reads a checkout of a repository: its files, and whether they are those of a commit.
package checkout

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// UnderGit reports whether dir is the root of a working tree of git.
func UnderGit(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ".git"))
	return err == nil
}

// Clean returns an error that lists what is not committed in the git working tree dir. It returns nil if everything
// is committed, or if dir is not under git.
func Clean(dir string) error {
	if !UnderGit(dir) {
		return nil
	}
	out, err := Git(dir, "status", "--porcelain")
	if err != nil {
		return err
	}
	if len(out) > 0 {
		return fmt.Errorf("%s has changes that are not committed, commit them first:\n%s", dir,
			strings.TrimRight(string(out), "\n"))
	}
	return nil
}

// Git runs git in dir and returns what it prints.
func Git(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}

// Tree is the content of files, by their names with slashes, relative to a root.
type Tree map[string][]byte

// Read reads the regular files below dir that git tracks. Without git, it reads all files except those in the folders
// bin and out, which builds write.
func Read(dir string) (Tree, error) {
	names, err := fileNames(dir)
	if err != nil {
		return nil, err
	}
	t := make(Tree, len(names))
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if t[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func fileNames(dir string) ([]string, error) {
	if UnderGit(dir) {
		out, err := Git(dir, "ls-files", "-z")
		if err != nil {
			return nil, err
		}
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
	}
	var names []string
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (name == "bin" || name == "out"):
			return fs.SkipDir
		case !entry.IsDir():
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	return names, err
}

// Write writes the files of the tree below dir, which it creates if needed.
func (t Tree) Write(dir string) error {
	for name, content := range t {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
	}
	return nil
}
