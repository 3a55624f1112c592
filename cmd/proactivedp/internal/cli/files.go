package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WrittenFlags returns the flags that name a file to be written, where they name no folder.
func WrittenFlags() []string {
	return []string{"checkpoint", "trace", "save", "record", "csv", "png", "out", "event-log"}
}

// ReadFlags returns the flags that name files to be read.
func ReadFlags() []string {
	return []string{"data", "test", "normalise", "columns", "records", "plan", "init", "resume", "checkpoint-key", "key",
		"creds", "clients-file", "events", "after", "compute-time", "latency", "scores"}
}

// goOn are files that are read and then written on purpose, by the flags that write and
// that read them.
var goOn = map[string]string{"checkpoint": "resume", "record": "after"}

// CheckFiles reports files that are to be written and that another flag reads or writes:
// they would be lost. A command that is given files otherwise looks at these by itself.
func CheckFiles(cmd *cobra.Command) error {
	var errs []error
	names := WrittenFlags()
	for i, written := range names {
		flag := cmd.Flags().Lookup(written)
		if flag == nil || flag.Value.String() == "" {
			continue
		}
		if of, _ := pflag.UnquoteUsage(flag); of != "file" && of != "path" {
			continue
		}
		for _, name := range slices.Concat(ReadFlags(), names[:i]) {
			if goOn[written] != name && slices.ContainsFunc(files(cmd, name), func(path string) bool {
				return SameFile(flag.Value.String(), path)
			}) {
				errs = append(errs, fmt.Errorf("--%s = %s, must not be the file of --%s", written, flag.Value, name))
			}
		}
	}
	return errors.Join(errs...)
}

// files returns the files that a flag names; none where the command does not have it.
func files(cmd *cobra.Command, name string) []string {
	flag := cmd.Flags().Lookup(name)
	if flag == nil || flag.Value.String() == "" || flag.Value.Type() == "bool" { // as predict's --scores
		return nil
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	value := strings.TrimPrefix(flag.Value.String(), "trace:") // of durations
	if name == "data" && !OwnFile(value) {
		return nil
	}
	return []string{value}
}

// SameFile reports whether both names are of one file that could be lost, be it there or
// not. The standard streams may well be one terminal, and are two things; of the null device
// nothing is lost.
func SameFile(a, b string) bool {
	if whole := absolute(a); whole == absolute(b) {
		return whole != os.DevNull
	}
	here, err := os.Stat(a)
	if err != nil || !here.Mode().IsRegular() {
		return false
	}
	there, err := os.Stat(b)
	return err == nil && os.SameFile(here, there)
}

// absolute returns the path of a file from the root on, by the folder's true name.
func absolute(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(whole)); err == nil {
		return filepath.Join(folder, filepath.Base(whole))
	}
	return whole
}
