package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

var format = Format{Magic: "magic\n", Version: 3, Name: "file"}

func written(t *testing.T, f Format, header, content string, key []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, []byte(header), key, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(file, key []byte) (header, content string, err error) {
	h, r, err := format.Open(bytes.NewReader(file), int64(len(file)), key)
	if err != nil {
		return "", "", err
	}
	text, err := io.ReadAll(r)
	return string(h), string(text), err
}

// signed is the file with its digest made anew, as anybody can.
func signed(file []byte) []byte {
	body := file[:len(file)-sha256.Size]
	sum := sha256.Sum256(body)
	return append(slices.Clone(body), sum[:]...)
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	key := bytes.Repeat([]byte("k"), MinKey)
	for _, key := range [][]byte{nil, key} {
		for _, content := range []string{"", "content"} {
			header, got, err := opened(written(t, format, "header", content, key), key)
			if header != "header" || got != content || err != nil {
				t.Errorf("%q, %q, %v, want header and %q", header, got, err, content)
			}
		}
	}
}

// No bit can change and no byte be missing; under a key nobody without it can sign a
// change, or take the key away.
func TestChangesAreSeen(t *testing.T) {
	key, other := bytes.Repeat([]byte("k"), MinKey), bytes.Repeat([]byte("o"), MinKey)
	for _, key := range [][]byte{nil, key} {
		file := written(t, format, "header", "content", key)
		for i := range file {
			changed := slices.Clone(file)
			changed[i] ^= 1 << (i % 8)
			if _, _, err := opened(changed, key); err == nil {
				t.Errorf("byte %d changed, and taken", i)
			}
			if _, _, err := opened(file[:i], key); err == nil {
				t.Errorf("cut off at %d of %d bytes, and taken", i, len(file))
			}
			signable := len(format.Magic) <= i && i < len(file)-sha256.Size
			if _, _, err := opened(signed(changed), key); key != nil && signable && !errors.Is(err, ErrKey) {
				t.Errorf("byte %d changed and signed without the key: %v, want ErrKey", i, err)
			}
		}
	}
	plain, keyed := written(t, format, "", "content", nil), written(t, format, "", "content", key)
	unkeyed := slices.Clone(keyed)
	binary.LittleEndian.PutUint64(unkeyed[len(format.Magic):], uint64(format.Version))
	for name, c := range map[string]struct{ file, key []byte }{
		"another key": {keyed, other}, "no key": {keyed, nil}, "no HMAC": {plain, key},
		"HMAC taken off": {signed(unkeyed), key},
	} {
		if _, _, err := opened(c.file, c.key); !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v, want ErrKey", name, err)
		}
	}
}

// What is whole and still not to be read is said by name.
func TestWhatIsNotAFileIsRefused(t *testing.T) {
	newer, long := format, written(t, format, "header", "content", nil)
	newer.Version++
	binary.LittleEndian.PutUint64(long[len(format.Magic)+8:], 1<<40)
	for want, file := range map[string][]byte{
		"this is not a file of proactivedp":                     []byte("something else"),
		"the file is truncated: it has only 6 bytes":            []byte(format.Magic),
		"the file's format is version 4, this program has":      written(t, newer, "", "", nil),
		"the file's header has 1099511627776 bytes, must be at": signed(long),
		"the file is damaged: its SHA-256 does not match its":   append(written(t, format, "", "", nil), 0),
	} {
		if _, _, err := opened(file, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := format.Write(io.Discard, make([]byte, maxHeader+1), nil, nil); err == nil {
		t.Error("a header above the limit was written")
	}
	if err := format.Write(io.Discard, nil, []byte("short"), nil); err == nil ||
		err.Error() != "file: a key of 5 bytes, must have at least 16" {
		t.Errorf("a short key: %v", err)
	}
	failing := errors.New("full")
	if err := format.Write(io.Discard, nil, nil, func(io.Writer) error { return failing }); !errors.Is(err, failing) {
		t.Errorf("error %v, want that of the content", err)
	}
}
