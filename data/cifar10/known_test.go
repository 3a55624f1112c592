package cifar10

import (
	"archive/tar"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/fetch"
)

// toy is a data set of two training batches and a test batch, of 3 records each,
// whose first two are the part.
func toy() (database, map[string][]byte) {
	files := map[string][]byte{
		"one.bin": records(0, 1, 2), "two.bin": records(3, 4, 5), "test.bin": records(6, 7, 8),
		"part.bin": records(6, 7),
	}
	of := func(name string) batch {
		sum := md5.Sum(files[name])
		return batch{name, hex.EncodeToString(sum[:])}
	}
	return database{
		rows:     3,
		batches:  []batch{of("one.bin"), of("two.bin"), of("test.bin")},
		partRows: 2,
		part:     of("part.bin"),
	}, files
}

// archived is a compressed archive of the files, in reverse order.
func archived(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w := tar.NewWriter(&file)
	put := func(h tar.Header, text []byte) {
		h.Size = int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	put(tar.Header{Name: "toy/", Typeflag: tar.TypeDir, Mode: 0o777}, nil)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(files))) {
		put(tar.Header{Name: "toy/" + name, Mode: 0o666}, files[name])
	}
	put(tar.Header{Name: "toy/readme.html", Mode: 0o666}, []byte("read me"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return gz(t, file.Bytes())
}

func serve(t *testing.T, file []byte) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(file) }))
	t.Cleanup(server.Close)
	return server.URL
}

// wantToy checks what was loaded: all rows, or those with only part of the test.
func wantToy(t *testing.T, d *data.Dataset, err error, rows int, note string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if d.Name != "cifar10" || d.Train != 6 || d.Note != note ||
		!slices.Equal(d.Label, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}[:rows]) ||
		!slices.Equal(d.Images.Image(4)[:4], []byte{1, 2, 3, 1}) {
		t.Errorf("%s: %d rows for training, note %q, labels %v, image 4 starts with %v", d.Name, d.Train, d.Note,
			d.Label, d.Images.Image(4)[:4])
	}
}

func TestLoadFromTheArchive(t *testing.T) {
	b, files := toy()
	with := func(name string, file []byte) map[string][]byte {
		other := maps.Clone(files)
		if other[name] = file; file == nil {
			delete(other, name)
		}
		return other
	}
	for want, bad := range map[string][]byte{
		"two.bin is not in the archive":        archived(t, with("two.bin", nil)),
		"toy/test.bin: 2 records, expected 3":  archived(t, with("test.bin", files["part.bin"])),
		"toy/one.bin: more than 3 records":     archived(t, with("one.bin", records(0, 1, 2, 3))),
		"toy/one.bin: record 2 has 3072 bytes": archived(t, with("one.bin", files["one.bin"][:3*recordBytes-1])),
		"toy/one.bin: MD5 of the 3 records is": archived(t, with("one.bin", files["two.bin"])),
		"one.bin is not in the archive":        gz(t, make([]byte, 1024)),
		"unexpected EOF":                       archived(t, files)[:100],
		"archive/tar: invalid tar header":      files["one.bin"],
	} {
		b.sources = []string{serve(t, bad)}
		_, err := b.load(t.Context(), fetch.Locator{Cache: t.TempDir()})
		if !errors.Is(err, fetch.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want ErrUnavailable and %q", err, want)
		}
	}

	cache := t.TempDir()
	// The first source fails with other records in place: none of them may stay.
	b.sources = []string{serve(t, archived(t, with("one.bin", records(9, 9, 9)))), serve(t, archived(t, files))}
	for range 2 { // from the source, from the cache
		d, err := b.load(t.Context(), fetch.Locator{Cache: cache})
		wantToy(t, d, err, 9, "")
		b.sources = nil
	}
	d, err := b.load(t.Context(), fetch.Locator{Dir: cache}) // the same file in a folder that is named
	wantToy(t, d, err, 9, "")

	// The unpacked batches serve without the archive, and are read again from it if one is damaged.
	batch, whole := filepath.Join(cache, Name, unpacked, "two.bin"), filepath.Join(cache, Name, archive)
	if err := os.Rename(whole, whole+".away"); err != nil {
		t.Fatal(err)
	}
	d, err = b.load(t.Context(), fetch.Locator{Cache: cache, Offline: true})
	wantToy(t, d, err, 9, "")
	if err := os.WriteFile(batch, records(3, 4, 6), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := b.load(t.Context(), fetch.Locator{Cache: cache, Offline: true}); !errors.Is(err, fetch.ErrUnavailable) {
		t.Errorf("loaded a damaged batch: %v", err)
	}
	if err := os.Rename(whole+".away", whole); err != nil {
		t.Fatal(err)
	}
	d, err = b.load(t.Context(), fetch.Locator{Cache: cache})
	wantToy(t, d, err, 9, "")
	if back, err := os.ReadFile(batch); err != nil || !bytes.Equal(back, files["two.bin"]) {
		t.Errorf("the damaged batch was not written again: %v", err)
	}
}

func TestLoadFromAFolder(t *testing.T) {
	b, files := toy()
	for _, form := range []struct {
		place func(name string) string
		text  func([]byte) []byte
	}{
		{func(name string) string { return name + ".gz" }, func(f []byte) []byte { return gz(t, f) }},
		{func(name string) string { return name }, slices.Clone[[]byte]},
		{func(name string) string { return unpacked + "/" + name }, slices.Clone[[]byte]},
	} {
		dir := t.TempDir()
		locator := fetch.Locator{Dir: dir}
		put := func(as string, file []byte) {
			path := filepath.Join(dir, "cifar10", filepath.FromSlash(form.place(as)))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, form.text(file), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"one.bin", "two.bin"} {
			_, err := b.load(t.Context(), locator)
			if !errors.Is(err, fetch.ErrMissing) || !strings.Contains(err.Error(), "cifar10/"+name+".gz") ||
				!strings.Contains(err.Error(), archive) {
				t.Errorf("without %s: %v, want ErrMissing", name, err)
			}
			put(name, files[name])
		}
		if form.place("") != unpacked+"/" { // nobody unpacks a part from the archive
			put("part.bin", files["part.bin"])
			d, err := b.load(t.Context(), locator)
			wantToy(t, d, err, 8, "the test set is the first 2 of its 3 images")
		}
		put("test.bin", files["test.bin"]) // the whole is preferred to the part
		d, err := b.load(t.Context(), locator)
		wantToy(t, d, err, 9, "")

		put("test.bin", records(6, 8))
		if _, err := b.load(t.Context(), locator); !errors.Is(err, fetch.ErrDamaged) ||
			!strings.Contains(err.Error(), "MD5 of the 2 records is") {
			t.Errorf("another part: %v, want ErrDamaged", err)
		}
		put("two.bin", records(3, 4))
		if _, err := b.load(t.Context(), locator); !errors.Is(err, fetch.ErrDamaged) ||
			!strings.Contains(err.Error(), "2 records, expected 3") {
			t.Errorf("part of a training batch: %v, want ErrDamaged", err)
		}
	}
}

func TestRealFiles(t *testing.T) {
	dir := os.Getenv("PROACTIVEDP_DATA")
	if dir == "" {
		t.Skip("set PROACTIVEDP_DATA to a folder with cifar10/data_batch_1.bin.gz and so on to test the real files")
	}
	d, err := Load(t.Context(), fetch.Locator{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if d.Train != Train || d.Shape() != "3×32×32 pixels" || d.Synthetic {
		t.Errorf("%d rows for training, %s, synthetic %v", d.Train, d.Shape(), d.Synthetic)
	}
	counts := make([]int, Classes)
	for _, l := range d.Label[:Train] {
		counts[l]++
	}
	if want := slices.Repeat([]int{Train / Classes}, Classes); !slices.Equal(counts, want) {
		t.Errorf("training labels %v, want %v", counts, want)
	}
	// A frog and a cat, by the top left pixels in red.
	if a, b := d.Images.Image(0), d.Images.Image(Train); d.Label[0] != 6 || d.Label[Train] != 3 ||
		!slices.Equal(a[:3], []byte{59, 43, 50}) || !slices.Equal(b[:3], []byte{158, 159, 165}) {
		t.Errorf("the first images are a %d that starts with %v and, for the test, a %d with %v", d.Label[0], a[:3],
			d.Label[Train], b[:3])
	}
	mean, std := d.Images.Moments(Train)
	for c := range channels {
		if math.Abs(mean[c]-float64(Mean()[c])) > 5e-5 || math.Abs(std[c]-float64(Std()[c])) > 5e-5 {
			t.Errorf("channel %d: mean %.6f and deviation %.6f of the training set, the constants are %v and %v", c,
				mean[c], std[c], Mean()[c], Std()[c])
		}
	}
	if d.Len() == Train+Test {
		return // the hash of all is not known
	}
	const golden, note = "9724a7e84065a16bdfb3ab6ffc7c484c674f88675fdd5f05e0ab766e35dc4600",
		"the test set is the first 1000 of its 10000 images"
	if h := d.Hash(); h != golden || d.Note != note || d.Len() != Train+1000 {
		t.Errorf("content hash %s, want %s; %d rows, note %q", h, golden, d.Len(), d.Note)
	}
}
