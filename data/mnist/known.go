package mnist

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/internal/bounded"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// These constants describe MNIST as it was published.
const (
	Name     = "mnist" // name by which commands and reports know it
	Train    = 60_000  // number of training images
	Test     = 10_000  // number of test images
	Citation = "Y. LeCun, C. Cortes and C. Burges, The MNIST database of handwritten digits, 1998; Y. LeCun, L. " +
		"Bottou, Y. Bengio and P. Haffner, Gradient-based learning applied to document recognition, Proceedings of " +
		"the IEEE 86(11), 1998"
	Licence = "none stated by the authors; often quoted as CC BY-SA 3.0"
)

// Fashion and Kuzushiji are the names of Fashion-MNIST (clothes) and KMNIST (Japanese characters), two other data
// sets in MNIST's format that [LoadNamed] can load.
const (
	Fashion   = "fashion-mnist"
	Kuzushiji = "kmnist"
)

// Known describes a data set that LoadNamed finds by name. Every such data set has as many images and classes as
// MNIST.
type Known struct {
	Name, Citation, Licence string
	Sources                 []string // URLs of folders, each of which has the four files
}

// Catalogue returns descriptions of the data sets that LoadNamed finds: MNIST, Fashion-MNIST and KMNIST.
func Catalogue() []Known {
	var all []Known
	for _, b := range databases() {
		all = append(all, b.Known)
	}
	return all
}

// sources returns the URLs of folders that have the four files of MNIST.
func sources() []string {
	return []string{
		"https://ossci-datasets.s3.amazonaws.com/mnist/",
		"https://storage.googleapis.com/cvdf-datasets/mnist/",
		"http://yann.lecun.com/exdb/mnist/",
	}
}

// loadedBytes is about how many bytes loading takes: all images of 28 × 28 pixels, twice because
// they grow.
const loadedBytes = 2 * (Train + Test) * (28*28 + labelBytes)

type database struct {
	Known
	folder      string // where torchvision keeps the files
	train, test part
	mean, std   float32
	// packed means that the digests belong to the files as published, compressed by gzip. Otherwise
	// they belong to the uncompressed content, because copies may be compressed differently.
	packed bool
}

type part struct{ images, labels file }

type file struct{ name, md5 string }

// databases lists the data sets as published: the files of images and of labels of the training set, then
// those of the test set. The digests of Fashion-MNIST and KMNIST are those of torchvision
// (pytorch/vision, torchvision/datasets/mnist.py, at 01977a1). Their means and standard deviations are,
// as those of MNIST, of p/255 over the training set, to the four digits that are commonly used with it.
func databases() []database {
	files := func(digests ...string) (train, test part) {
		return part{file{"train-images-idx3-ubyte", digests[0]}, file{"train-labels-idx1-ubyte", digests[1]}},
			part{file{"t10k-images-idx3-ubyte", digests[2]}, file{"t10k-labels-idx1-ubyte", digests[3]}}
	}
	digits := database{Known: Known{Name, Citation, Licence, sources()}, folder: "MNIST/raw", mean: Mean, std: Std}
	digits.train, digits.test = files("6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624",
		"2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637")
	fashion := database{Known: Known{Fashion, "H. Xiao, K. Rasul and R. Vollgraf, Fashion-MNIST: a Novel Image Dataset for " +
		"Benchmarking Machine Learning Algorithms, arXiv 1708.07747, 2017", "MIT, Zalando SE",
		[]string{"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
			"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"}},
		folder: "FashionMNIST/raw", mean: 0.2860, std: 0.3530, packed: true}
	fashion.train, fashion.test = files("8d4fb7e6c68d591d4c3dfef9ec88bf0d", "25c81989df183df01b3e8a0aad5dffbe",
		"bef4ecab320f06d8554ea6380940ec79", "bb300cfdad3c16e7a12a480ee83cd310")
	kuzushiji := database{Known: Known{Kuzushiji, "T. Clanuwat, M. Bober-Irizar, A. Kitamoto, A. Lamb, K. Yamamoto and D. " +
		"Ha, Deep Learning for Classical Japanese Literature, arXiv 1812.01718, 2018", "CC BY-SA 4.0",
		[]string{"http://codh.rois.ac.jp/kmnist/dataset/kmnist/"}},
		folder: "KMNIST/raw", mean: 0.1918, std: 0.3483, packed: true}
	kuzushiji.train, kuzushiji.test = files("bdb82020997e1d708af4cf47b453dcf7", "e144d726b3acfaa3e44228e80efcd344",
		"5c965bf0a639b31b8f53240b1b52f4d7", "7320c461ea6c1c855c0b718fb2a4b134")
	return []database{digits, fashion, kuzushiji}
}

// Load finds or downloads MNIST, verifies it, and returns the training images followed by the test images (see
// data.Dataset.Train). locator says where to look; its zero value means the user's cache and a download. See
// [LoadNamed].
func Load(ctx context.Context, locator fetch.Locator) (*data.Dataset, error) {
	return LoadNamed(ctx, Name, locator)
}

// LoadNamed finds or downloads the four files of a data set that [Catalogue] lists, by its name, and verifies them.
// It returns the training images followed by the test images. locator says where to look; its zero value means the
// user's cache and a download. In each place where it looks, the files are in a folder with the data set's name, or in
// a folder such as MNIST/raw, as torchvision makes it. A file may have a name such as train-images-idx3-ubyte or, with
// a dot, train-images.idx3-ubyte. The files of MNIST may be compressed or not. The files of the other data sets must
// be as published, compressed by gzip, because the digests that verify them are those of the compressed files. The
// error wraps one of the errors of package fetch if a file was not found.
func LoadNamed(ctx context.Context, name string, locator fetch.Locator) (*data.Dataset, error) {
	// Do not download what does not fit the memory.
	if err := memory.Given(locator.Memory).Check(loadedBytes); err != nil {
		return nil, err
	}
	for _, b := range databases() {
		if b.Name == name {
			return b.load(ctx, locator)
		}
	}
	return nil, fmt.Errorf("data set = %q, must be %s, %s or %s", name, Name, Fashion, Kuzushiji)
}

func (b database) load(ctx context.Context, locator fetch.Locator) (*data.Dataset, error) {
	d := newSet(b.Name)
	d.Images.Mean[0], d.Images.Std[0] = b.mean, b.std
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

func (b database) add(ctx context.Context, locator fetch.Locator, f file, d *data.Dataset,
	add func(*data.Dataset, io.Reader, memory.Limit) error) error {
	var sources, places []string
	for _, folder := range b.Sources {
		sources = append(sources, folder+f.name+".gz")
	}
	for _, folder := range []string{b.Name, b.folder} {
		for _, name := range []string{f.name, strings.Replace(f.name, "-idx", ".idx", 1)} {
			places = append(places, folder+"/"+name+".gz")
			if !b.packed {
				places = append(places, folder+"/"+name)
			}
		}
	}
	set, images := *d, *d.Images
	_, err := locator.Locate(ctx, fetch.File{
		Rel: places[0], Also: places[1:], Sources: sources,
		Check: func(path string) error {
			if err := b.checkPacked(path, f.md5); err != nil {
				return err
			}
			*d, *d.Images = set, images // discard what an earlier copy of the file added
			return unpack.File(path, func(r io.Reader) error {
				sum := md5.New()
				if err := add(d, io.TeeReader(r, sum), memory.Given(locator.Memory)); err != nil {
					return err
				}
				if got := hex.EncodeToString(sum.Sum(nil)); !b.packed && got != f.md5 {
					return fmt.Errorf("MD5 of the content is %s, expected %s", got, f.md5)
				}
				return nil
			})
		},
	})
	return err
}

// checkPacked verifies a file that has the digest of the compressed file.
func (b database) checkPacked(path, want string) error {
	if !b.packed {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := md5.New()
	if _, err := io.Copy(sum, bounded.Reader(f, fetch.DefaultMaxBytes)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("MD5 of the file is %s, expected %s; --data FILE reads copies that are not as published", got, want)
	}
	return nil
}
