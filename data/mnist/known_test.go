package mnist

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data/fetch"
)

// toy is a database that tests can serve: some images for training, and one.
func toy() (database, map[string][]byte) {
	files := map[string][]byte{
		"a-images": someImages, "a-labels": someLabels,
		"b-images": idx([]uint32{2051, 1, 2, 2}, 7, 7, 7, 7), "b-labels": idx([]uint32{2049, 1}, 5),
	}
	of := func(name string) file {
		sum := md5.Sum(files[name])
		return file{name, hex.EncodeToString(sum[:])}
	}
	return database{Known: Known{Name: Name}, folder: "MNIST/raw", mean: Mean, std: Std,
		train: part{of("a-images"), of("a-labels")},
		test:  part{of("b-images"), of("b-labels")},
	}, files
}

// serve is a folder on the web of <name>.gz for each file.
func serve(t *testing.T, files map[string][]byte) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".gz")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(gz(t, text))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

func TestLoadTakesTheSourceThatVerifies(t *testing.T) {
	b, files := toy()
	wrong := map[string][]byte{
		"a-images": idx([]uint32{2051, 2, 3, 3}, make([]byte, 18)...), // of another size, which must be forgotten
		"a-labels": idx([]uint32{2049, 4}, 1, 2, 3, 4),
		"b-images": bytes.ToUpper(files["b-images"]),
		"b-labels": files["b-labels"][:8],
	}
	b.Sources = []string{serve(t, wrong)}
	locator := fetch.Locator{Cache: t.TempDir()}
	if _, err := b.load(t.Context(), locator); !errors.Is(err, fetch.ErrUnavailable) ||
		!strings.Contains(err.Error(), "MD5 of the content is ") {
		t.Errorf("error %v, want ErrUnavailable and the checksum", err)
	}
	b.Sources = append(b.Sources, serve(t, files))
	for range 2 { // from the source, from the cache
		d, err := b.load(t.Context(), locator)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		if d.Name != "mnist" || d.Train != 3 || !slices.Equal(d.Label, []int32{9, 0, 4, 5}) ||
			!slices.Equal(d.Images.Image(3), []byte{7, 7, 7, 7}) {
			t.Errorf("loaded %+v, images %+v", d, d.Images)
		}
		b.Sources = nil
	}
}

func TestLoadFromAFolder(t *testing.T) {
	b, files := toy()
	dir := t.TempDir()
	locator := fetch.Locator{Dir: dir}
	if _, err := Load(t.Context(), locator); !errors.Is(err, fetch.ErrMissing) ||
		!strings.Contains(err.Error(), "train-images-idx3-ubyte.gz") {
		t.Errorf("empty folder: %v, want ErrMissing", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "mnist"), 0o777); err != nil {
		t.Fatal(err)
	}
	put := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, "mnist", name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files { // two of them without compression
		if strings.HasPrefix(name, "a") {
			put(name, text)
		} else {
			put(name+".gz", gz(t, text))
		}
	}
	if _, err := b.load(t.Context(), locator); err != nil {
		t.Error(err)
	}
	put("b-labels.gz", gz(t, someLabels))
	if _, err := b.load(t.Context(), locator); !errors.Is(err, fetch.ErrDamaged) ||
		!strings.Contains(err.Error(), "b-labels.gz: MD5") {
		t.Errorf("other labels: %v, want ErrDamaged", err)
	}
	b.test.labels.md5 = b.train.labels.md5
	if _, err := b.load(t.Context(), locator); err == nil || !strings.Contains(err.Error(), "4 images and 6 labels") {
		t.Errorf("too many labels: %v", err)
	}
}

func TestRealFiles(t *testing.T) {
	dir := os.Getenv("PROACTIVEDP_DATA")
	if dir == "" {
		t.Skip("set PROACTIVEDP_DATA to a folder with mnist/train-images-idx3-ubyte.gz and so on to test the real " +
			"files")
	}
	d, err := Load(t.Context(), fetch.Locator{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if d.Len() != Train+Test || d.Train != Train || d.Shape() != "1×28×28 pixels" || d.Synthetic || d.Note != "" {
		t.Errorf("%d rows, %d for training, %s, synthetic %v, note %q", d.Len(), d.Train, d.Shape(), d.Synthetic,
			d.Note)
	}
	test := make([]int, Classes)
	for _, l := range d.Label[Train:] {
		test[l]++
	}
	if want := []int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}; !slices.Equal(test, want) {
		t.Errorf("test labels %v, want %v", test, want)
	}
	if want := []int{6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958}; !slices.Equal(d.All().ClassCounts(), want) {
		t.Errorf("labels %v, want %v", d.All().ClassCounts(), want)
	}
	// The first image of the training set is a five whose first stroke is in row 5,
	// from column 12 on; that of the test set is a seven.
	first := d.Images.Image(0)
	if ink := slices.IndexFunc(first, func(p byte) bool { return p > 0 }); d.Label[0] != 5 || d.Label[Train] != 7 ||
		ink != 5*28+12 || first[ink] != 3 {
		t.Errorf("the first image is a %d, whose first ink is pixel %d; the first test image a %d", d.Label[0], ink,
			d.Label[Train])
	}
	mean, std := d.Images.Moments(Train)
	if math.Abs(mean[0]-Mean) > 5e-5 || math.Abs(std[0]-Std) > 5e-5 {
		t.Errorf("mean %.6f and deviation %.6f of the training set, the constants are %v and %v", mean[0], std[0], Mean,
			Std)
	}
	const golden = "2fd628604a0eb2cdd4f52a4f38ec063fce23166afd1d6b257e978438b9af7b2e"
	if h := d.Hash(); h != golden {
		t.Errorf("content hash %s, want %s", h, golden)
	}
}

// A file of MNIST is found under every name by which it is published, unpacked and kept: its content is
// verified in any case. 6 names.
func TestNamesOfFiles(t *testing.T) {
	b, files := toy()
	b.train.images.name, b.train.labels.name = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	for images, packed := range map[string]bool{
		"mnist/train-images-idx3-ubyte": false, "mnist/train-images-idx3-ubyte.gz": true,
		"mnist/train-images.idx3-ubyte": false, "mnist/train-images.idx3-ubyte.gz": true,
		"MNIST/raw/train-images-idx3-ubyte": false, "MNIST/raw/train-images.idx3-ubyte.gz": true,
	} {
		dir := t.TempDir()
		for _, sub := range []string{"mnist", "MNIST/raw"} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		labels := strings.NewReplacer("images", "labels", "idx3", "idx1").Replace(images)
		for name, content := range map[string][]byte{images: files["a-images"], labels: files["a-labels"],
			"mnist/b-images": files["b-images"], "mnist/b-labels": files["b-labels"]} {
			if packed && strings.HasSuffix(name, ".gz") {
				content = gz(t, content)
			}
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if d, err := b.load(t.Context(), fetch.Locator{Dir: dir}); err != nil || d.Len() != 4 {
			t.Errorf("%s: %v, %v", images, d, err)
		}
	}
}

// The digest of a set that is verified as published is that of the compressed file.
func TestDigestOfThePublishedFile(t *testing.T) {
	b, files := toy()
	b.packed, b.Name = true, Fashion
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, Fashion), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*file{&b.train.images, &b.train.labels, &b.test.images, &b.test.labels} {
		content := gz(t, files[f.name])
		sum := md5.Sum(content)
		f.md5 = hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(dir, Fashion, f.name+".gz"), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := b.load(t.Context(), fetch.Locator{Dir: dir}); err != nil || d.Name != Fashion {
		t.Fatalf("%v, %v", d, err)
	}
	b.test.labels.md5 = b.train.labels.md5
	if _, err := b.load(t.Context(), fetch.Locator{Dir: dir}); !errors.Is(err, fetch.ErrDamaged) ||
		!strings.Contains(err.Error(), "MD5 of the file is") {
		t.Errorf("another digest: %v, want ErrDamaged", err)
	}
	for _, k := range Catalogue() {
		if _, err := LoadNamed(t.Context(), k.Name, fetch.Locator{Dir: t.TempDir()}); !errors.Is(err, fetch.ErrMissing) {
			t.Errorf("%s: %v, want ErrMissing", k.Name, err)
		}
	}
}
