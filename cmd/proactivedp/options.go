package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
)

// anyChanged reports whether one of the flags was given.
func anyChanged(cmd *cobra.Command, names ...string) bool {
	return slices.ContainsFunc(names, cmd.Flags().Changed)
}

// allowed is a flag and its range in words.
type allowed struct{ flag, values string }

// refuseZeros reports the flags that were given as 0, which the packages below
// read as not given.
func refuseZeros(cmd *cobra.Command, flags ...allowed) error {
	var errs []error
	for _, a := range flags {
		v, err := strconv.ParseFloat(cmd.Flags().Lookup(a.flag).Value.String(), 64)
		if err == nil && v == 0 && cmd.Flags().Changed(a.flag) {
			errs = append(errs, fmt.Errorf("--%s = 0, must be %s", a.flag, a.values))
		}
	}
	return errors.Join(errs...)
}

// refuseNoFile reports the flags that were given and name no file. "-" is no name for stdin
// or stdout: these have other things to carry.
func refuseNoFile(cmd *cobra.Command, flags ...string) error {
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

// refuseWith reports the flags that were given and must not be beside another.
func refuseWith(cmd *cobra.Command, other string, names ...string) error {
	var errs []error
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s must not be given with --%s", name, other))
		}
	}
	return errors.Join(errs...)
}
