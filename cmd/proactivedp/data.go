package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/data"
	"proactivedp/data/libsvm"
	"proactivedp/data/synth"
	"proactivedp/internal/fetch"
	"proactivedp/internal/rng"
)

// dataEnv names the folder of the data sets, as --data-dir does.
const dataEnv = "PROACTIVEDP_DATA"

// standInSeed draws the synthetic data sets, the same for everybody.
const standInSeed = 1

// dataFlags says where data sets are found.
type dataFlags struct{ dir string }

// add gives cmd the flag --data-dir.
func (f *dataFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "data-dir", "",
		"folder of the data sets, with libsvm/phishing and so on; a missing file there is an error (default: $"+dataEnv+", else the cache, else a download)")
}

// locator returns where to look. Messages and progress go to stderr.
func (f *dataFlags) locator(cmd *cobra.Command) (fetch.Locator, error) {
	l := fetch.Locator{Dir: f.dir, Progress: cmd.ErrOrStderr()}
	if cmd.Flags().Changed("data-dir") {
		if l.Dir == "" {
			return l, usage(errors.New(`--data-dir = "", must name a folder`))
		}
		return l, nil
	}
	l.Dir = os.Getenv(dataEnv)
	return l, nil
}

// obtainable reports whether data sets come from the cache or a download, not
// from a folder that the user names.
func (f *dataFlags) obtainable(cmd *cobra.Command) bool {
	l, err := f.locator(cmd)
	return err == nil && l.Dir == ""
}

// load returns a data set: a known one by name, a synthetic one by name, or a
// LIBSVM file by path.
func (f *dataFlags) load(cmd *cobra.Command, name string) (*data.Dataset, error) {
	l, err := f.locator(cmd)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(libsvm.Names(), name):
		return libsvm.Load(cmd.Context(), name, l)
	case slices.Contains(synth.Names(), name):
		return synth.Make(name, rng.New(standInSeed))
	}
	return libsvm.ParseFile(name, 0)
}

// checkData refuses a name that is neither a data set nor a file, before
// anything is loaded.
func checkData(name string) error {
	known := slices.Concat(libsvm.Names(), synth.Names())
	if slices.Contains(known, name) {
		return nil
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data = %q, must be one of %s, or an existing LIBSVM file", name, strings.Join(known, ", "))
	}
	return nil
}

func newData() *cobra.Command {
	var where dataFlags
	cmd := &cobra.Command{
		Use:   "data",
		Short: "List, fetch and verify the data sets",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:     "list",
		Short:   "List the data sets and where they come from",
		Example: "  proactivedp data list",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listData(cmd)
		},
	}
	fetchCmd := &cobra.Command{
		Use:     "fetch [name…]",
		Short:   "Download data sets into the cache, verified; all without a name",
		Example: "  proactivedp data fetch phishing",
		RunE: func(cmd *cobra.Command, names []string) error {
			return each(cmd, names, func(ctx context.Context, name string) error {
				d, err := libsvm.Load(ctx, name, fetch.Locator{Progress: cmd.ErrOrStderr()})
				return describe(cmd, d, err)
			})
		},
	}
	verify := &cobra.Command{
		Use:     "verify [name…]",
		Short:   "Check data sets where they are, without downloading; all without a name",
		Example: "  proactivedp data verify --data-dir DIR",
		RunE: func(cmd *cobra.Command, names []string) error {
			return each(cmd, names, func(ctx context.Context, name string) error {
				l, err := where.locator(cmd)
				if err != nil {
					return err
				}
				l.Offline = true
				d, err := libsvm.Load(ctx, name, l)
				return describe(cmd, d, err)
			})
		},
	}
	where.add(verify)
	cmd.AddCommand(list, fetchCmd, verify)
	return cmd
}

// each calls f for the named data sets, all known ones without names, and
// reports every failure.
func each(cmd *cobra.Command, names []string, f func(context.Context, string) error) error {
	known := libsvm.Names()
	if len(names) == 0 {
		names = known
	}
	var errs []error
	for _, name := range names {
		if !slices.Contains(known, name) {
			errs = append(errs, usage(fmt.Errorf("data set = %q, must be one of %s", name, strings.Join(known, ", "))))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, name := range names {
		errs = append(errs, f(cmd.Context(), name))
	}
	return errors.Join(errs...)
}

func describe(cmd *cobra.Command, d *data.Dataset, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%-16s %d rows, %d features, labels %v, content sha256 %s\n",
		d.Name, d.Len(), d.Features, d.LabelCounts(), d.Hash())
	return err
}

func listData(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	for _, name := range libsvm.Names() {
		k, err := libsvm.Lookup(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s: %d rows, %d features, labels %v\n  %s\n  %s\n", k.Name, k.Rows, k.Features, k.LabelCounts, k.Citation, k.Licence); err != nil {
			return err
		}
		for _, source := range k.Sources {
			if _, err := fmt.Fprintf(w, "  %s\n", source); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "synthetic stand-ins, by name only: %s\n", strings.Join(synth.Names(), ", "))
	return err
}
