package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/data"
	"proactivedp/data/cifar10"
	"proactivedp/data/fetch"
	"proactivedp/data/libsvm"
	"proactivedp/data/mnist"
	"proactivedp/data/synth"
	"proactivedp/data/table"
	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/memory"
	"proactivedp/internal/nearest"
	"proactivedp/rng"
	"proactivedp/train"
)

// dataEnv names the folder of the data sets, as --data-dir does.
const dataEnv = "PROACTIVEDP_DATA"

// standInSeed draws the synthetic data sets, the same for everybody.
const standInSeed = 1

// dataFlags says where data sets are found, and how much memory they may take.
type dataFlags struct {
	dir    string
	memory memoryFlag
	own    ownFlags
}

// addWithin gives cmd the flags --data-dir and --memory.
func (f *dataFlags) addWithin(cmd *cobra.Command) {
	f.add(cmd)
	f.memory.add(cmd)
}

// add gives cmd the flag --data-dir.
func (f *dataFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "data-dir", "",
		"`folder` of the data sets, with libsvm/phishing, mnist/train-images-idx3-ubyte.gz and so on; a missing "+
			"file there is an error (default: $"+dataEnv+", else the cache, else a download)")
}

// locator returns where to look. Messages and progress go to stderr.
func (f *dataFlags) locator(cmd *cobra.Command) (fetch.Locator, error) {
	l := fetch.Locator{Dir: f.dir, Memory: int64(f.memory), Progress: cmd.ErrOrStderr()}
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

// published is a data set that can be fetched and verified.
type published struct {
	name  string
	about []string // lines that tell its size, citation, licence and sources
	load  func(context.Context, fetch.Locator) (*data.Dataset, error)
}

func catalogue() []published {
	var all []published
	for _, k := range libsvm.Catalogue() {
		size := fmt.Sprintf("%d rows, %d features, labels %v", k.Rows, k.Features, k.LabelCounts)
		all = append(all, published{k.Name, append([]string{size, k.Citation, k.Licence}, k.Sources...),
			func(ctx context.Context, l fetch.Locator) (*data.Dataset, error) { return libsvm.Load(ctx, k.Name, l) }})
	}
	images := func(train, test int, shape string) string {
		return fmt.Sprintf("%d images for training and %d for the test, %s pixels", train, test, shape)
	}
	return append(all,
		published{mnist.Name, append([]string{images(mnist.Train, mnist.Test, "1×28×28"), mnist.Citation,
			mnist.Licence}, mnist.Sources()...), mnist.Load},
		published{cifar10.Name, append([]string{images(cifar10.Train, cifar10.Test, "3×32×32"), cifar10.Citation,
			cifar10.Licence}, cifar10.Sources()...), cifar10.Load})
}

func publishedNames() []string {
	var names []string
	for _, p := range catalogue() {
		names = append(names, p.name)
	}
	return names
}

// allDataNames lists the published data sets and their stand-ins.
func allDataNames() []string { return slices.Concat(publishedNames(), synth.Names()) }

// obtain returns a data set: a published one by name, a synthetic one by name, or
// a file by path, of as many features; 0: as many as it has.
func obtain(ctx context.Context, name string, features int, own *ownFlags, l fetch.Locator) (*data.Dataset, error) {
	d, err := found(ctx, name, features, own, l)
	if errors.Is(err, memory.ErrTooLittle) {
		err = fmt.Errorf("data set %s: %w", name, err)
	}
	return d, err
}

func found(ctx context.Context, name string, features int, own *ownFlags, l fetch.Locator) (*data.Dataset, error) {
	for _, p := range catalogue() {
		if p.name == name {
			return p.load(ctx, l)
		}
	}
	if synth.Is(name) {
		return standIn(name, l.Memory)
	}
	return own.read(name, features, l.Memory)
}

// standIn draws a synthetic data set, if it fits the memory.
func standIn(name string, limit int64) (*data.Dataset, error) {
	n, err := synth.Bytes(name)
	if err == nil {
		err = memory.Given(limit).Check(n)
	}
	if err != nil {
		return nil, err
	}
	return synth.Make(name, rng.New(standInSeed))
}

// load returns the data set of a name or path, from where the flag says.
func (f *dataFlags) load(cmd *cobra.Command, name string) (*data.Dataset, error) {
	l, err := f.locator(cmd)
	if err != nil {
		return nil, err
	}
	return obtain(cmd.Context(), name, 0, &f.own, l)
}

// loadFor is load for a training by the spec. What that takes from the records beyond
// what (ε, δ) covers is said of the data.
func (f *dataFlags) loadFor(cmd *cobra.Command, spec train.Spec) (*data.Dataset, error) {
	return f.loadAs(cmd, spec, spec.Data)
}

// loadAs is loadFor where the data that the spec names are found under another name now.
// What is said of them is what was said of those: the content of both is compared.
func (f *dataFlags) loadAs(cmd *cobra.Command, spec train.Spec, name string) (*data.Dataset, error) {
	l, err := f.locator(cmd)
	if err != nil {
		return nil, err
	}
	if err := f.own.check(cmd, name); err != nil {
		return nil, usage(err)
	}
	d, err := obtain(cmd.Context(), name, spec.Features, &f.own, l)
	if err == nil {
		d.Synthetic = d.Synthetic || synth.Is(spec.Data)
		d.Note = strings.Join(slices.DeleteFunc([]string{d.Note, uncovered(spec, d)},
			func(note string) bool { return note == "" }), "; ")
	}
	return d, err
}

// ownFile reports whether the name of a data set is that of a user's file.
func ownFile(name string) bool {
	return name != "" && !synth.Is(name) && !slices.Contains(publishedNames(), name)
}

// uncovered says what one record can change beyond what (ε, δ) is about, or "". A set that
// was published in two parts has one split for everybody; phishing and mushrooms were not,
// and are split here. Synthetic records are nobody's.
func uncovered(s train.Spec, d *data.Dataset) string {
	var what []string
	if d.Synthetic {
		return ""
	}
	if s.Features == 0 && ownFile(s.Data) && !table.Is(s.Data) {
		what = append(what, "the model's length, which the largest index of any record sets (--features D says it)")
	}
	switch {
	case d.Train > 0:
	case s.Split != train.RecordSplit:
		what = append(what, "the split, which depends on the number of rows (--split by-record does not)")
	case dp.Sampling(s.Sampling) == dp.FixedSize:
		what = append(what, "the split under replace-one adjacency, as a record may be replaced by one of the other "+
			"side")
	}
	if data.Partition(s.Partition).Disjoint() {
		what = append(what, "which client holds a row, as rows are dealt anew for another number of them")
	}
	if len(what) == 0 {
		return ""
	}
	return "NOT covered by (ε, δ): " + strings.Join(what, "; nor ")
}

// checkData refuses a name that is neither a data set nor a file, before
// anything is loaded.
func checkData(name string) error {
	switch {
	case slices.Contains(publishedNames(), name):
		return nil
	case synth.Is(name):
		return synth.Check(name)
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data = %q, must be one of %s, or an existing LIBSVM file, or CSV%s", name,
			strings.Join(allDataNames(), ", "), meant(nearest.Name(name, allDataNames())))
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
			return listData(cmd.OutOrStdout())
		},
	}
	fetchCmd := &cobra.Command{
		Use:               "fetch [name…]",
		Short:             "Download data sets into the cache, verified; all without a name",
		Example:           "  proactivedp data fetch mnist",
		ValidArgsFunction: arguments(publishedNames),
		RunE: func(cmd *cobra.Command, names []string) error {
			return each(cmd, names, fetch.Locator{Progress: cmd.ErrOrStderr()})
		},
	}
	verify := &cobra.Command{
		Use:               "verify [name…]",
		Short:             "Check data sets where they are, without downloading; all published ones without a name",
		Example:           "  proactivedp data verify --data-dir DIR\n  proactivedp data verify synth-mnist:7000",
		ValidArgsFunction: arguments(allDataNames),
		RunE: func(cmd *cobra.Command, names []string) error {
			l, err := where.locator(cmd)
			if err != nil {
				return err
			}
			l.Offline = true
			return each(cmd, names, l)
		},
	}
	where.add(verify)
	cmd.AddCommand(list, fetchCmd, verify)
	return cmd
}

// each describes the named data sets, all published ones without names, as they
// are found, and reports every failure.
func each(cmd *cobra.Command, names []string, l fetch.Locator) error {
	if len(names) == 0 {
		names = publishedNames()
	}
	var errs []error
	for _, name := range names {
		if synth.Is(name) {
			errs = append(errs, usage(synth.Check(name)))
		} else if !slices.Contains(publishedNames(), name) {
			errs = append(errs, usage(fmt.Errorf("data set = %q, must be one of %s%s", name,
				strings.Join(allDataNames(), ", "), meant(nearest.Name(name, allDataNames())))))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, name := range names {
		d, err := obtain(cmd.Context(), name, 0, &ownFlags{}, l)
		if err == nil {
			err = describe(cmd.OutOrStdout(), d)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func describe(w io.Writer, d *data.Dataset) error {
	text := fmt.Sprintf("%-17s %s", d.Name, decimal.Many(d.Len(), "row"))
	if d.Train > 0 {
		text += fmt.Sprintf(", %d of them for training", d.Train)
	}
	text += fmt.Sprintf(", %s, labels %v, content sha256 %s", d.Shape(), d.LabelCounts(), d.Hash())
	if d.Synthetic {
		text += " (SYNTHETIC)"
	}
	if d.Note != "" {
		text += "; " + d.Note
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func listData(w io.Writer) error {
	for _, p := range catalogue() {
		if _, err := fmt.Fprintf(w, "%s: %s\n", p.name, strings.Join(p.about, "\n  ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w,
		"synthetic stand-ins, by name only: %s\nthose of images with a number of rows, too, as synth-mnist:7000\n",
		strings.Join(synth.Names(), ", "))
	return err
}
