package mnist

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"proactivedp/data"
	"proactivedp/internal/memory"
)

// idx is a file: the words of its header and its content.
func idx(header []uint32, content ...byte) []byte {
	var text []byte
	for _, word := range header {
		text = binary.BigEndian.AppendUint32(text, word)
	}
	return append(text, content...)
}

// Three images of 2×2 pixels and their labels.
var (
	someImages = idx([]uint32{2051, 3, 2, 2}, 0, 1, 2, 3, 10, 11, 12, 13, 252, 253, 254, 255)
	someLabels = idx([]uint32{2049, 3}, 9, 0, 4)
)

func gz(t testing.TB, text []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func TestParse(t *testing.T) {
	var hashes []string
	for _, images := range [][]byte{someImages, gz(t, someImages)} {
		for _, labels := range [][]byte{someLabels, gz(t, someLabels)} {
			d, err := Parse("toy", iotest.HalfReader(bytes.NewReader(images)),
				iotest.OneByteReader(bytes.NewReader(labels)))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Validate(); err != nil {
				t.Error(err)
			}
			if d.Name != "toy" || d.Train != 0 || d.Shape() != "1×2×2 pixels" ||
				!slices.Equal(d.Label, []int32{9, 0, 4}) || !slices.Equal(d.Images.Image(1), []byte{10, 11, 12, 13}) {
				t.Errorf("got %+v, images %+v", d, d.Images)
			}
			hashes = append(hashes, d.Hash())
		}
	}
	if len(slices.Compact(hashes)) != 1 {
		t.Error("compression changed the content")
	}
}

func TestParseErrors(t *testing.T) {
	for want, files := range map[string][2][]byte{
		"images: the file ends in the header of 16 bytes": {someImages[:15], someLabels},
		"images: magic number = 2049, must be 2051": {slices.Concat(someLabels, someLabels),
			someLabels},
		"images: images of 0×2 pixels, each must be in [1, 4096]":   {idx([]uint32{2051, 3, 0, 2}), someLabels},
		"images: images of 2×4097 pixels":                           {idx([]uint32{2051, 3, 2, 4097}), someLabels},
		"images: 0 images of 2×2 pixels, must be in [1, 268435456]": {idx([]uint32{2051, 0, 2, 2}), someLabels},
		"images: 268435457 images of 2×2 pixels": {idx([]uint32{2051, 1<<28 + 1, 2, 2}),
			someLabels},
		"images: the file ends after 11 bytes of content, expected 12": {someImages[:len(someImages)-1], someLabels},
		"images: the file ends after 0 bytes of content, expected 1073": {idx([]uint32{2051, 1 << 28, 2, 2}),
			someLabels},
		"images: the file has more than the expected 12 bytes": {append(slices.Clone(someImages), 0),
			someLabels},
		"expected 12: unexpected EOF": {gz(t, someImages)[:30], someLabels},
		"images: gzip: invalid header": {append(gz(t, someImages), "0123456789"...),
			someLabels},
		"labels: the file ends in the header of 8 bytes":             {someImages, nil},
		"labels: magic number = 2051, must be 2049":                  {someImages, someImages},
		"labels: 0 labels, must be in [1, 1073741824]":               {someImages, idx([]uint32{2049, 0})},
		"labels: 2147483648 labels, must be in":                      {someImages, idx([]uint32{2049, 1 << 31})},
		"labels: the file ends after 2 bytes of content, expected 3": {someImages, someLabels[:10]},
		"labels: the file has more than the expected 3 bytes": {someImages,
			append(slices.Clone(someLabels), 0)},
		"labels: label 1 is 10, must be in [0, 10)":   {someImages, idx([]uint32{2049, 3}, 9, 10, 4)},
		"3 images and 2 labels, must be equally many": {someImages, idx([]uint32{2049, 2}, 9, 4)},
	} {
		d, err := Parse("toy", bytes.NewReader(files[0]), bytes.NewReader(files[1]))
		if d != nil || err == nil || !strings.HasPrefix(err.Error(), "toy: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	broken := errors.New("disk on fire")
	for n := range len(someImages) + 1 {
		cut := io.MultiReader(bytes.NewReader(someImages[:n]), iotest.ErrReader(broken))
		if _, err := Parse("toy", cut, bytes.NewReader(someLabels)); !errors.Is(err, broken) {
			t.Errorf("failure after %d bytes: %v, want the reader's", n, err)
		}
	}
}

// A header may promise 1 GiB; memory follows what is there.
func TestParseOfAPromise(t *testing.T) {
	promise := idx([]uint32{2051, 1 << 28, 2, 2}, 1, 2, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Parse("toy", bytes.NewReader(promise), nil); err == nil {
		t.Error("accepted")
	}
	runtime.ReadMemStats(&after)
	got := after.TotalAlloc - before.TotalAlloc
	if got > 4<<20 {
		t.Errorf("%d bytes allocated for a file of %d", got, len(promise))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(someImages, someLabels)
	f.Add(gz(f, someImages), gz(f, someLabels))
	f.Add(someImages[:15], someLabels)
	f.Add(someImages, someLabels[:9])
	f.Add(idx([]uint32{2051, 1 << 28, 2, 2}, 1), idx([]uint32{2049, 1 << 29}, 1))
	f.Fuzz(func(t *testing.T, images, labels []byte) {
		d, err := Parse("fuzz", bytes.NewReader(images), bytes.NewReader(labels))
		if err != nil {
			if d != nil || !strings.HasPrefix(err.Error(), "fuzz: ") {
				t.Errorf("data set %v with error %v", d, err)
			}
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		m := d.Images
		back := idx([]uint32{2051, uint32(d.Len()), uint32(m.Height), uint32(m.Width)}, m.Pixels...)
		if !bytes.HasPrefix(images, []byte("\x1f\x8b")) && !bytes.HasPrefix(images, []byte("BZh")) &&
			!bytes.Equal(back, images) {
			t.Errorf("%x is read as %x", images, back)
		}
	})
}

// A second file of images goes on after the first if its images are as large, and is refused if not.
func TestImagesOfTwoFilesAreAsLarge(t *testing.T) {
	for want, second := range map[string][]byte{
		"": someImages, "images of 4×1 pixels, must be 2×2 like the previous ones": idx([]uint32{2051, 1, 4, 1}, 1, 2, 3, 4),
		"images of 2×1 pixels, must be 2×2 like the previous ones": idx([]uint32{2051, 1, 2, 1}, 1, 2),
	} {
		d := &data.Dataset{Images: &data.Images{Channels: 1}}
		if err := addImages(d, bytes.NewReader(someImages), memory.Limit{}); err != nil {
			t.Fatal(err)
		}
		err := addImages(d, bytes.NewReader(second), memory.Limit{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if err == nil && len(d.Images.Pixels) != 24 {
			t.Errorf("%d pixels", len(d.Images.Pixels))
		}
	}
}
