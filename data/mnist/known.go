package mnist

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"

	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// Facts about the database.
const (
	Name     = "mnist"
	Train    = 60_000
	Test     = 10_000
	Citation = "Y. LeCun, C. Cortes and C. Burges, The MNIST database of handwritten digits, 1998; Y. LeCun, L. " +
		"Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to document recognition, Proceedings of " +
		"the IEEE 86(11), 1998"
	Licence = "none stated by the authors; often quoted as CC BY-SA 3.0"
)

// Sources returns the URLs of folders that have the four files.
func Sources() []string {
	return []string{
		"https://ossci-datasets.s3.amazonaws.com/mnist/",
		"https://storage.googleapis.com/cvdf-datasets/mnist/",
		"http://yann.lecun.com/exdb/mnist/",
	}
}

// loadedBytes is about how many bytes loading takes: all images of 28 × 28 pixels, twice because
// they grow.
const loadedBytes = 2 * (Train + Test) * (28*28 + labelBytes)

// original is the database as published: the files of images and of labels of the training set,
// then those of the test set. Checksums are of the uncompressed content, because copies may be
// compressed differently.
func original() database {
	return database{
		train: part{
			images: file{"train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"},
			labels: file{"train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"},
		},
		test: part{
			images: file{"t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"},
			labels: file{"t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637"},
		},
		sources: Sources(),
	}
}

// Load finds the four files below mnist/, each as <name>.gz or <name>, verifies them, and returns
// the training set followed by the test set. The locator says where to look. Use errors.Is to
// distinguish its errors.
func Load(ctx context.Context, locator fetch.Locator) (*data.Dataset, error) {
	// Do not download what does not fit the memory.
	if err := memory.Given(locator.Memory).Check(loadedBytes); err != nil {
		return nil, err
	}
	return original().load(ctx, locator)
}

type database struct {
	train, test part
	sources     []string
}

type part struct{ images, labels file }

type file struct{ name, md5 string }

func (b database) load(ctx context.Context, locator fetch.Locator) (*data.Dataset, error) {
	d := newSet(Name)
	for _, p := range []part{b.train, b.test} {
		d.Train = d.Len()
		err := b.add(ctx, locator, p.images, d, addImages)
		if err == nil {
			err = b.add(ctx, locator, p.labels, d, addLabels)
		}
		if err == nil {
			err = finish(d)
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// add locates a file and appends it to d.
func (b database) add(ctx context.Context, locator fetch.Locator, f file, d *data.Dataset,
	add func(*data.Dataset, io.Reader, memory.Limit) error) error {
	rel := Name + "/" + f.name
	var sources []string
	for _, folder := range b.sources {
		sources = append(sources, folder+f.name+".gz")
	}
	set, images := *d, *d.Images
	_, err := locator.Locate(ctx, fetch.File{
		Rel: rel + ".gz", Also: []string{rel}, Sources: sources,
		Check: func(path string) error {
			*d, *d.Images = set, images // discard what an earlier copy of the file added
			return unpack.File(path, func(r io.Reader) error {
				sum := md5.New()
				if err := add(d, io.TeeReader(r, sum), memory.Given(locator.Memory)); err != nil {
					return err
				}
				if got := hex.EncodeToString(sum.Sum(nil)); got != f.md5 {
					return fmt.Errorf("MD5 of the content is %s, expected %s", got, f.md5)
				}
				return nil
			})
		},
	})
	return err
}
