package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// AnyChanged reports whether one of the flags was given.
func AnyChanged(cmd *cobra.Command, names ...string) bool {
	return slices.ContainsFunc(names, cmd.Flags().Changed)
}

// RefuseZeros reports the flags that were given as 0, or with 0 among their numbers, which
// the packages below read as not given. Flags that the command does not have are not given.
func RefuseZeros(cmd *cobra.Command, names ...string) error {
	var errs []error
	for _, name := range names {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		zero := slices.ContainsFunc(strings.Split(flag.Value.String(), ","), func(text string) bool {
			v, err := strconv.ParseFloat(text, 64)
			return err == nil && v == 0
		})
		if zero {
			errs = append(errs, fmt.Errorf("--%s = 0, must be %s", name, rangeOf(flag)))
		}
	}
	return errors.Join(errs...)
}

// RefuseNoFile reports the flags that were given and name no file. "-" is no name for stdin
// or stdout: these have other things to carry.
func RefuseNoFile(cmd *cobra.Command, flags ...string) error {
	var errs []error
	for _, name := range flags {
		switch flag := cmd.Flags().Lookup(name); {
		case flag.Changed && flag.Value.String() == "":
			errs = append(errs, fmt.Errorf("--%s = \"\", must name a file", name))
		case flag.Value.String() == "-":
			errs = append(errs, fmt.Errorf("--%s = \"-\", must name a file, as \"./-\"", name))
		}
	}
	return errors.Join(errs...)
}

// RefuseNoFolder reports the flags that were given and name no folder.
func RefuseNoFolder(cmd *cobra.Command, flags ...string) error {
	var errs []error
	for _, name := range flags {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s = \"\", must name a folder", name))
		}
	}
	return errors.Join(errs...)
}

// RefuseWith reports the flags that were given and must not be beside another.
func RefuseWith(cmd *cobra.Command, other string, names ...string) error {
	var errs []error
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s must not be given with --%s", name, other))
		}
	}
	return errors.Join(errs...)
}

// FlagGiven returns the first of the flags that was given.
func FlagGiven(cmd *cobra.Command, names ...string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return names[0]
}

// CheckWorkers reports a number of goroutines that cannot work.
func CheckWorkers(n int) error {
	if n < 1 {
		return fmt.Errorf("--workers = %d, must be at least 1", n)
	}
	return nil
}

// SameFile reports whether both names are of one file, be it there or not.
func SameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	here, err := os.Stat(a)
	if err != nil {
		return false
	}
	there, err := os.Stat(b)
	return err == nil && os.SameFile(here, there)
}
