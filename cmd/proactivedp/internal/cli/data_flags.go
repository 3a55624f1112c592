package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/train"
)

// DataEnv is the name of the environment variable for the folder of the data sets. The flag --data-dir overrides it.
const DataEnv = "PROACTIVEDP_DATA"

// DataFlags are the flags that say where data sets are found, how a user's file is read, and how much memory may be
// used.
type DataFlags struct {
	dir    string
	cache  string // folder of features
	Memory MemoryFlag
	Own    OwnFlags
}

// AddWithin adds the flags --data-dir, --cache and --memory to cmd.
func (f *DataFlags) AddWithin(cmd *cobra.Command) {
	f.Add(cmd)
	f.Memory.Add(cmd)
	cmd.Flags().StringVar(&f.cache, "cache", "",
		"`folder` that keeps the features of --features scatter, 16 KB for an image of 28×28 pixels and 31 KB for one of 3×32×32; those of "+
			"your own file are a copy of private data (default: the user's cache for a public set, and none for your own file)")
}

// CacheFeatures lets the features of d be stored in the cache folder that the flags name, and read from
// it. name is the name of d.
func (f *DataFlags) CacheFeatures(cmd *cobra.Command, d *data.Dataset, name string) {
	keep := featurer{ctx: cmd.Context(), dir: f.cache, asked: f.cache != "", own: OwnFile(name), out: cmd.ErrOrStderr()}
	if slices.Contains(PublishedNames(), name) && f.cache == "" {
		if dir, err := f.Locator(cmd).CacheFolder(); err == nil {
			keep.dir = filepath.Join(dir, "features")
		}
	}
	d.Featurer = keep.apply
}

// Add adds the flag --data-dir to cmd.
func (f *DataFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "data-dir", "",
		"`folder` of the data sets, with libsvm/phishing, mnist/train-images-idx3-ubyte.gz and so on; a missing "+
			"file there is an error (default: $"+DataEnv+", else the cache, else a download)")
}

// Locator returns where to look for data sets, as the flags say. Messages and progress go to stderr.
func (f *DataFlags) Locator(cmd *cobra.Command) fetch.Locator {
	return fetch.Locator{Dir: Given(cmd, "data-dir", f.dir, os.Getenv(DataEnv)), Memory: int64(f.Memory),
		Progress: cmd.ErrOrStderr()}
}

// Obtainable reports whether data sets come from the cache or a download. If the user names a folder, they come only
// from there.
func (f *DataFlags) Obtainable(cmd *cobra.Command) bool {
	return f.Locator(cmd).Dir == ""
}

// Load returns the data set with this name or path. It looks for a published set in the folder that --data-dir names
// or, without one, in the cache.
func (f *DataFlags) Load(cmd *cobra.Command, name string) (*data.Dataset, error) {
	d, err := Obtain(cmd.Context(), name, 0, &f.Own, f.Locator(cmd))
	if err == nil {
		f.CacheFeatures(cmd, d, name)
	}
	return d, err
}

// LoadFor loads the data set for a training of the spec. It adds to the data set's note what the training learns from
// the records without (ε, δ) covering it.
func (f *DataFlags) LoadFor(cmd *cobra.Command, spec train.Spec) (*data.Dataset, error) {
	d, err := f.LoadAs(cmd, spec, spec.Data)
	if err == nil {
		sayHolders(cmd, spec)
		f.Own.sayUnscaled(cmd, spec.Data)
		if f.Own.test != "" && SameFile(f.Own.test, spec.Data) {
			Say(cmd, "WARNING: --test = %s is the file of --data: the accuracy is that on rows of the training; without "+
				"--test, a fifth of the rows is the test set", f.Own.test)
		}
	}
	return d, err
}

// sayHolders prints who holds the records of a user's file if no flag says it: all of the paper's
// clients hold each record, so that a record pays for the rounds of all.
func sayHolders(cmd *cobra.Command, s train.Spec) {
	if clients := cmd.Flags().Lookup("clients"); clients == nil || cmd.Flags().Lookup("clients-file") != nil {
		return // without this flag, or where it counts the clients' requests
	}
	if s.Clients == 1 || s.Partition != string(data.Replicate) || !OwnFile(s.Data) || AnyChanged(cmd, "clients", "partition", "plan") {
		return
	}
	Say(cmd, "%d clients hold all of %s, as in the paper, and a record pays for the rounds of all; use --clients 1 if "+
		"only one holds it", s.Clients, s.Data)
}

// LoadAs does the same as LoadFor, but loads the data set called name. Use it for data that have moved since the spec
// was written. The caller must check that the contents are equal, because the note is made as for the spec's own
// data.
func (f *DataFlags) LoadAs(cmd *cobra.Command, spec train.Spec, name string) (*data.Dataset, error) {
	if err := errors.Join(f.Own.check(cmd, name), f.Own.checkPersons(cmd, spec, name)); err != nil {
		return nil, Usage(err)
	}
	if f.Own.private = spec; spec.BoundsEpsilon > 0 && (!OwnFile(name) || f.Own.normalise != "") {
		return nil, Usage(errors.New("--bounds is for your own file whose columns --normalise does not scale"))
	}
	d, err := Obtain(cmd.Context(), name, spec.Features, &f.Own, f.Locator(cmd))
	if err == nil {
		err = checkSplit(cmd, d, name)
	}
	if err == nil {
		d.Synthetic = d.Synthetic || synth.Is(spec.Data)
		d.Note = notes(d.Note, f.Own.uncovered(spec, d))
		f.CacheFeatures(cmd, d, name)
	}
	return d, err
}

// checkSplit refuses --split for a user's file that already has a test set.
func checkSplit(cmd *cobra.Command, d *data.Dataset, name string) error {
	if flag := cmd.Flags().Lookup("split"); d.Train > 0 && OwnFile(name) && flag != nil && flag.Changed {
		return Usage(fmt.Errorf("--split = %s is for a set without a test set, and %s has one",
			flag.Value, name))
	}
	return nil
}

// uncovered lists what one record can change although (ε, δ) does not cover it, or returns "". A
// set that was published in two parts has the same split for everybody. Phishing and mushrooms are
// split here, and their number of records is public. Synthetic records belong to nobody.
func (o *OwnFlags) uncovered(s train.Spec, d *data.Dataset) string {
	var what []string
	if d.Synthetic {
		return ""
	}
	addOrRemove := dp.NaturalAdjacency(dp.Sampling(s.Sampling)) == dp.AddOrRemove
	inferred := OwnFile(s.Data) && KindOf(s.Data) == LIBSVMFile // files of other kinds have a header, or give their shape
	if inferred && s.Features == 0 && o.Form.Image == "" {
		what = append(what, "the model's length, which the largest index of any record sets (--features D says it)")
	}
	if inferred && o.LabelMap == "" && o.target == "" {
		what = append(what, "which labels there are, because they are found in the records (give --label-map)")
	}
	if o.outside == refuse {
		what = append(what, "that no value is outside of its bounds, which is refused (--out-of-bounds clamp clamps it)")
	}
	if OwnFile(s.Data) && addOrRemove {
		what = append(what, "how many records there are, N, which the sample rate and the defaults of δ and λ go by")
	}
	if d.Person != nil && d.Train > 0 {
		what = append(what, "whether a person has records in both --test and --data, which is refused")
	}
	switch {
	case d.Train > 0:
	case s.Split != train.RecordSplit:
		what = append(what, "the split, which depends on the number of rows (--split by-record does not)")
	case !addOrRemove:
		what = append(what, "the split under replace-one adjacency, as a record may be replaced by one of the other "+
			"side")
	}
	if s.Holdout > 0 && !addOrRemove {
		what = append(what, "how many records are held out under replace-one adjacency, because a record that is held "+
			"out may replace one that is not")
	}
	if data.Partition(s.Partition).Disjoint() {
		what = append(what, "which client holds a row, as rows are dealt anew for another number of them")
	}
	if len(what) == 0 {
		return ""
	}
	return notCovered + strings.Join(what, "; nor ")
}

// notCovered begins the last note about a data set.
const notCovered = "NOT covered by (ε, δ): "

// NotCovered adds to the note of a data set, which reports print, that (ε, δ) does not cover something. what names
// it: a use of the records. For a synthetic set NotCovered does nothing.
func NotCovered(d *data.Dataset, what string) {
	switch {
	case d.Synthetic:
	case strings.Contains(d.Note, notCovered):
		d.Note += "; nor " + what
	default:
		d.Note = notes(d.Note, notCovered+what)
	}
}

// notes joins the notes that are not empty.
func notes(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(note string) bool { return note == "" }), "; ")
}
