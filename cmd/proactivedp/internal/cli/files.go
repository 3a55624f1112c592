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

// WrittenFlags returns the names of the flags that name a file to be written. Flags for folders are not among them.
func WrittenFlags() []string {
	return []string{"checkpoint", "trace", "save", "record", "csv", "png", "out", "event-log"}
}

// ReadFlags returns the names of the flags that name files to be read.
func ReadFlags() []string {
	return []string{"data", "test", "normalise", "columns", "records", "plan", "init", "resume", "checkpoint-key", "key",
		"creds", "clients-file", "events", "after", "compute-time", "latency", "scores"}
}

// goOn lists pairs of flags that may name the same file: it is read first and then written. The key
// is the flag that writes.
var goOn = map[string]string{"checkpoint": "resume", "record": "after"}

// CheckFiles returns an error for each file that one flag writes and another flag reads or writes, because its
// content would be lost. A command that gets file names in other ways must check them itself.
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

// files returns the files that a flag names, or nil if the command does not have the flag.
func files(cmd *cobra.Command, name string) []string {
	flag := cmd.Flags().Lookup(name)
	if flag == nil || flag.Value.String() == "" || flag.Value.Type() == "bool" { // such as --scores of predict
		return nil
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	value := strings.TrimPrefix(flag.Value.String(), "trace:") // for flags of durations
	if name == "data" && !OwnFile(value) {
		return nil
	}
	return []string{value}
}

// SameFile reports whether the paths a and b lead to the same file. Use it to find out whether writing one
// would destroy the other. The file need not exist. The standard streams and the null device never count
// as the same: nothing in them can be lost.
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

// absolute returns the absolute path of a file, with symbolic links of its folder resolved.
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
