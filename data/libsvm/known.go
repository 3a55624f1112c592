package libsvm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"proactivedp/data"
	"proactivedp/data/fetch"
)

// Known describes a published data set that [Load] finds by name: its content and its source.
type Known struct {
	Name        string
	Rows        int
	Features    int
	LabelCounts []int    // number of rows of class 0 and of class 1
	Hash        string   // data.Dataset.Hash of the content, by which it is verified
	SHA256      string   // checksum of the file that LIBSVM publishes; "" if it is not known, and only Hash is checked
	Sources     []string // URLs of the file
	Citation    string
	Licence     string
}

// Catalogue returns descriptions of the published data sets that [Load] finds by name. Their counts of rows and
// features are those that LIBSVM and UCI state.
func Catalogue() []Known {
	const site = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
	return []Known{
		{
			// Class 1 is UCI's Result 1, class 0 its Result -1.
			Name:        "phishing",
			Rows:        11055,
			Features:    68,
			LabelCounts: []int{4898, 6157},
			Hash:        "702035b0da5e1f2dca5a8069ca4444ff048ad8a33348e2973b77960b515bd9b1",
			Sources: []string{
				site + "phishing",
				"https://raw.githubusercontent.com/Rustem-Islamov/FedNL-Public/" +
					"ac72ee934bb7248e6f76eab7a444ab84218403bf/Datasets/phishing.txt",
				"https://raw.githubusercontent.com/bokunwang1/P-norm-Push/" +
					"a2993349a1261bee45754a99cae9be6efbea1b23/data/phishing",
			},
			Citation: "R. Mohammad, F. Thabtah and L. McCluskey, An assessment of features related to phishing " +
				"websites using an automated technique, ICITST 2012; UCI Machine Learning Repository, Phishing " +
				"Websites; coded by C.-C. Chang and C.-J. Lin, LIBSVM data sets",
			Licence: "CC BY 4.0",
		},
		{
			// Class 0 (label 1) is poisonous, class 1 (label 2) edible.
			Name:        "mushrooms",
			Rows:        8124,
			Features:    112,
			LabelCounts: []int{3916, 4208},
			Hash:        "7fe2387bb7c201eff317d23fb6908840f6a217b7bc59946798cfbf51a4ed4719",
			SHA256:      "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538",
			Sources: []string{
				site + "mushrooms",
				"https://raw.githubusercontent.com/konstmish/opt_methods/" +
					"8a3ae3ab666d916abaa5a61132fb60bb2a059088/optmethods/datasets/mushrooms",
			},
			Citation: "J. Schlimmer, Mushroom, 1987, from the Audubon Society Field Guide to North American " +
				"Mushrooms, 1981; UCI Machine Learning Repository, Mushroom; coded by C.-C. Chang and C.-J. Lin, " +
				"LIBSVM data sets",
			Licence: "CC BY 4.0",
		},
	}
}

// Names returns the names of the published data sets that Load finds.
func Names() []string {
	var names []string
	for _, k := range Catalogue() {
		names = append(names, k.Name)
	}
	return names
}

// Lookup returns the description of the published data set with this name, which [Catalogue] also lists. For an
// unknown name, the error lists all names.
func Lookup(name string) (Known, error) {
	for _, k := range Catalogue() {
		if k.Name == name {
			return k, nil
		}
	}
	return Known{}, fmt.Errorf("data set = %q, must be one of %q", name, Names())
}

// Load finds or downloads the published data set with this name (see [Names]), reads it and verifies its content.
// locator says where to look for the file, which is called libsvm/NAME there; its zero value means the user's cache
// and a download. If the file was not found, the error wraps one of the errors of package fetch, such as
// fetch.ErrUnavailable.
func Load(ctx context.Context, name string, locator fetch.Locator) (*data.Dataset, error) {
	k, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	return k.load(ctx, locator)
}

func (k Known) load(ctx context.Context, locator fetch.Locator) (*data.Dataset, error) {
	var set *data.Dataset // the data set of the last checked file, which Locate returns
	_, err := locator.Locate(ctx, fetch.File{
		Rel:     "libsvm/" + k.Name,
		Sources: k.Sources,
		SHA256:  k.SHA256,
		Check: func(path string) (err error) {
			if set, err = ParseFile(path, Options{Features: k.Features, Memory: locator.Memory}); err != nil {
				return err
			}
			set.Name = k.Name // the temporary file of a download has another name
			return k.Verify(set)
		},
	})
	if err != nil {
		return nil, err
	}
	return set, nil
}

// Verify returns an error if d is not the published data set k. Use it for a copy of the data set that was read from
// the user's file. The error lists the differences in the numbers of rows, features and labels. If these agree,
// Verify compares the hash of the content.
func (k Known) Verify(d *data.Dataset) error {
	var errs []error
	differ := func(field string, found, expected any) {
		errs = append(errs, fmt.Errorf("%s: %s = %v, expected %v", k.Name, field, found, expected))
	}
	if d.Len() != k.Rows {
		differ("rows", d.Len(), k.Rows)
	}
	if d.Features != k.Features {
		differ("features", d.Features, k.Features)
	}
	if counts := d.All().ClassCounts(); !slices.Equal(counts, k.LabelCounts) {
		differ("label counts", counts, k.LabelCounts)
	}
	if len(errs) == 0 {
		if h := d.Hash(); h != k.Hash {
			differ("content hash", h, k.Hash)
		}
	}
	return errors.Join(errs...)
}
