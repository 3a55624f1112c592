package cifar10

import (
	"archive/tar"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/internal/files"
	"proactivedp/internal/memory"
	"proactivedp/internal/unpack"
)

// These constants describe CIFAR-10 as it was published.
const (
	Name     = "cifar10" // name by which commands and reports know it
	Train    = 50_000    // number of training images
	Test     = 10_000    // number of test images
	Citation = "A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, technical report, " +
		"University of Toronto, 2009"
	Licence = "none stated by the author, who asks to be cited"
)

// Sources returns the URLs from which [Load] downloads the archive with all files.
func Sources() []string {
	return []string{
		"https://www.cs.toronto.edu/~kriz/" + archive,
		"https://mindspore-website.obs.cn-north-4.myhuaweicloud.com/notebook/datasets/" + archive,
	}
}

const (
	archive = "cifar-10-binary.tar.gz"
	// unpacked is the folder in the archive.
	unpacked = "cifar-10-batches-bin"
)

// original is the data set as published. The batches' checksums are those that public loaders check
// after unpacking the archive, such as rai-project/dldataset, vision/cifar10.go. The checksum of
// the partial test set was computed from such a file, because none is published.
func original() database {
	return database{
		rows: Test,
		batches: []batch{
			{"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"},
			{"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"},
			{"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"},
			{"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"},
			{"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"},
			{"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"},
		},
		partRows: 1_000,
		part:     batch{"test_batch_first1000.bin", "371f65da31ad652f5e24b3699a3e6515"},
		sources:  Sources(),
	}
}

// Load finds or downloads CIFAR-10, verifies it, and returns the training images in the order of their files,
// followed by the test images (see data.Dataset.Train). locator says where to look; its zero value means the user's
// cache and a download.
//
// A folder named by the user (Locator.Dir) must have either the archive or the files data_batch_1.bin and so on.
// These files may be compressed (.bin.gz), or in the subfolder cifar-10-batches-bin. Instead of test_batch.bin, a
// folder may have test_batch_first1000.bin with its first 1,000 records; Dataset.Note then says so. A cache has the
// archive. After the first use it also has the subfolder, because inflating the archive takes most of the time. If a
// file was not found or is damaged, the error wraps one of the errors of package fetch.
func Load(ctx context.Context, locator fetch.Locator) (*data.Dataset, error) {
	return original().load(ctx, locator)
}

// database is a data set in files of equally many rows. The last file is the test set, or only its
// first partRows rows.
type database struct {
	rows     int
	batches  []batch
	partRows int
	part     batch
	sources  []string
}

type batch struct{ name, md5 string }

func (b database) load(ctx context.Context, locator fetch.Locator) (*data.Dataset, error) {
	// Allocate everything, because the archive may have the batches in any order.
	n := len(b.batches) * b.rows
	if err := memory.Given(locator.Memory).Check(int64(n) * (pixels + labelBytes)); err != nil {
		return nil, err
	}
	d := newSet(Name)
	d.Train = n - b.rows
	d.Label = make([]int32, n)
	d.Images.Pixels = make([]byte, n*pixels)

	if locator.Dir == "" && b.fromCache(ctx, locator, d) {
		return d, nil
	}
	var err error
	if locator.Dir != "" {
		err = b.fromFolder(ctx, locator, d)
	}
	if locator.Dir == "" || errors.Is(err, fetch.ErrMissing) {
		if other := b.fromArchive(ctx, locator, d); !errors.Is(other, fetch.ErrMissing) {
			err = other
		} else {
			err = fmt.Errorf("%w\nand instead of the batches, %w", err, other)
		}
	}
	if err != nil {
		return nil, err
	}
	if locator.Dir == "" {
		b.keep(locator, d)
	}
	if d.Len() < n {
		d.Note = fmt.Sprintf("the test set is the first %d of its %d images", b.partRows, b.rows)
	}
	return d, nil
}

// fromCache reads the batches that keep left in the cache, and verifies them as others. It reports whether all rows
// are there.
func (b database) fromCache(ctx context.Context, locator fetch.Locator, d *data.Dataset) bool {
	cache, err := locator.CacheFolder()
	if err != nil {
		return false
	}
	n := d.Len()
	if b.fromFolder(ctx, fetch.Locator{Dir: cache}, d) == nil && d.Len() == n {
		return true
	}
	d.Label, d.Images.Pixels = d.Label[:n], d.Images.Pixels[:n*pixels]
	return false
}

// keep writes the batches to the cache. If this fails, the archive is inflated again the next time.
func (b database) keep(locator fetch.Locator, d *data.Dataset) {
	cache, err := locator.CacheFolder()
	if err != nil {
		return
	}
	folder := filepath.Join(cache, Name, unpacked)
	if os.MkdirAll(folder, 0o777) != nil {
		return
	}
	for i, k := range b.batches {
		err := files.Write(filepath.Join(folder, k.name), func(w io.Writer) error {
			for row := i * b.rows; row < (i+1)*b.rows; row++ {
				if _, err := w.Write(append([]byte{byte(d.Label[row])}, d.Images.Image(row)...)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return
		}
	}
}

// fromFolder reads the files of the batches.
func (b database) fromFolder(ctx context.Context, locator fetch.Locator, d *data.Dataset) error {
	n := 0 // number of rows of the last batch
	for i, k := range b.batches {
		file := fetch.File{
			Rel:  Name + "/" + k.name + ".gz",
			Also: []string{Name + "/" + k.name, Name + "/" + unpacked + "/" + k.name},
			Check: func(path string) error {
				return unpack.File(path, func(r io.Reader) (err error) {
					n, err = b.read(d, i, r)
					return err
				})
			},
		}
		if b.last(i) {
			file.Also = append(file.Also, Name+"/"+b.part.name+".gz", Name+"/"+b.part.name)
		}
		if _, err := locator.Locate(ctx, file); err != nil {
			return err
		}
	}
	d.Label = d.Label[:d.Train+n]
	d.Images.Pixels = d.Images.Pixels[:len(d.Label)*pixels]
	return nil
}

func (b database) last(i int) bool { return i == len(b.batches)-1 }

func (b database) fromArchive(ctx context.Context, locator fetch.Locator, d *data.Dataset) error {
	_, err := locator.Locate(ctx, fetch.File{
		Rel: Name + "/" + archive, Sources: b.sources,
		Check: func(path string) error {
			return unpack.File(path, func(r io.Reader) error { return b.readArchive(d, r) })
		},
	})
	return err
}

func (b database) readArchive(d *data.Dataset, r io.Reader) error {
	missing := slices.Clone(b.batches)
	for in := tar.NewReader(r); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		name := path.Base(header.Name)
		i := slices.IndexFunc(b.batches, func(k batch) bool { return k.name == name })
		if i < 0 {
			continue
		}
		n, err := b.read(d, i, in)
		if err == nil && n < b.rows {
			err = fmt.Errorf("%d records, expected %d", n, b.rows)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
		missing = slices.DeleteFunc(missing, func(k batch) bool { return k.name == name })
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is not in the archive", missing[0].name)
	}
	return nil
}

// read reads batch i, or the part of the last one, into its place, verifies it and returns its
// number of rows.
func (b database) read(d *data.Dataset, i int, r io.Reader) (int, error) {
	sum := md5.New()
	n, err := readRecords(io.TeeReader(r, sum), b.rows, func(j int, label int32, image []byte) {
		row := i*b.rows + j
		d.Label[row] = label
		copy(d.Images.Image(row), image)
	})
	if err != nil {
		return 0, err
	}
	want := b.batches[i]
	if n < b.rows {
		if !b.last(i) || n != b.partRows {
			return 0, fmt.Errorf("%d records, expected %d", n, b.rows)
		}
		want = b.part
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.md5 {
		return 0, fmt.Errorf("MD5 of the %d records is %s, expected %s", n, got, want.md5)
	}
	return n, nil
}
