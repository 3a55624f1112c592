package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
)

// AnyChanged reports whether one of the flags was given.
func AnyChanged(cmd *cobra.Command, names ...string) bool {
	return slices.ContainsFunc(names, cmd.Flags().Changed)
}

// Allowed is a flag and its range in words.
type Allowed [2]string

// RefuseZeros reports the flags that were given as 0, which the packages below
// read as not given.
func RefuseZeros(cmd *cobra.Command, flags []Allowed) error {
	var errs []error
	for _, a := range flags {
		flag, values := a[0], a[1]
		v, err := strconv.ParseFloat(cmd.Flags().Lookup(flag).Value.String(), 64)
		if err == nil && v == 0 && cmd.Flags().Changed(flag) {
			errs = append(errs, fmt.Errorf("--%s = 0, must be %s", flag, values))
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
