// Package sealed reads and writes files that show whether they were changed. A file has these parts:
//
//	magic
//	version of the format     8 bytes, little-endian, like all numbers
//	length of the header      8 bytes
//	header                    says which content this is
//	content
//	SHA-256 of everything before, or HMAC-SHA-256 with a key; 32 bytes
//
// The version says which of the two it is. The SHA-256 detects damage but does not prove who wrote
// the file: whoever can change the file can also change the SHA-256. Only the HMAC proves that
// somebody with the key wrote the file.
package sealed

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Format describes a kind of sealed file.
type Format struct {
	Magic   string // the beginning of every file
	Version uint32 // raised with every change of the format
	Name    string // the name of such a file in errors, such as "checkpoint"
}

const (
	// keyed is added to the version if the file ends in an HMAC.
	keyed     = 1 << 32
	maxHeader = 1 << 26
	// MinKey is the least length of a key, in bytes.
	MinKey = 16
)

var (
	// ErrDamaged is the error, usually wrapped, for a file whose content has changed since it was written.
	ErrDamaged = errors.New("its SHA-256 does not match its content")
	// ErrKey is the error, usually wrapped, for a file that was written with another key than the given
	// one. It is also the error if only one of the two is empty (no key).
	ErrKey = errors.New("it was not written under this key")
)

// preamble is the number of bytes before the header.
func (f Format) preamble() int { return len(f.Magic) + 16 }

// seal returns the version number of a file that is written with the key, and the hash function
// whose result is the file's last bytes.
func (f Format) seal(key []byte) (uint64, hash.Hash) {
	if len(key) == 0 {
		return uint64(f.Version), sha256.New()
	}
	return keyed | uint64(f.Version), hmac.New(sha256.New, key)
}

// CheckKey returns an error if the key is not empty and has fewer than MinKey bytes.
func (f Format) CheckKey(key []byte) error {
	if len(key) > 0 && len(key) < MinKey {
		return fmt.Errorf("%s: a key of %d bytes, must have at least %d", f.Name, len(key), MinKey)
	}
	return nil
}

// Write writes a sealed file. content is called to write the content. If key is not empty, the file ends with an HMAC
// of everything, otherwise with a SHA-256.
func (f Format) Write(w io.Writer, header, key []byte, content func(io.Writer) error) error {
	if err := f.CheckKey(key); err != nil {
		return err
	}
	if len(header) > maxHeader {
		return fmt.Errorf("%s: header of %d bytes, must be at most %d", f.Name, len(header), maxHeader)
	}
	version, sum := f.seal(key)
	both := io.MultiWriter(w, sum)
	head := make([]byte, 0, f.preamble()+len(header))
	head = append(head, f.Magic...)
	head = binary.LittleEndian.AppendUint64(head, version)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(header)))
	head = append(head, header...)
	_, err := both.Write(head)
	if err == nil {
		err = content(both)
	}
	if err == nil {
		_, err = w.Write(sum.Sum(nil))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// Open reads a file of size bytes once, and checks that it has this format, is complete, and was written with the
// key. It returns the header and a reader of the content, which reads r again. The error wraps ErrDamaged or ErrKey
// if the file was changed or has another key.
func (f Format) Open(r io.ReaderAt, size int64, key []byte) (header []byte, content *io.SectionReader, err error) {
	if err := f.CheckKey(key); err != nil {
		return nil, nil, err
	}
	head := make([]byte, f.preamble())
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if found := head[:min(n, len(f.Magic))]; n == 0 || !bytes.HasPrefix([]byte(f.Magic), found) {
		return nil, nil, fmt.Errorf("this is not a %s of proactivedp", f.Name)
	}
	body, start := size-sha256.Size, int64(f.preamble())
	if n < f.preamble() || body < start {
		return nil, nil, fmt.Errorf("the %s is truncated: it has only %d bytes", f.Name, size)
	}
	version := binary.LittleEndian.Uint64(head[len(f.Magic):])
	length := binary.LittleEndian.Uint64(head[len(f.Magic)+8:])
	due, sum := f.seal(key)
	if version == due^keyed {
		if len(key) > 0 {
			return nil, nil, fmt.Errorf("the %s: %w: it has no HMAC, so anybody may have written it", f.Name, ErrKey)
		}
		return nil, nil, fmt.Errorf("the %s: %w: it was written with a key, and none is given", f.Name, ErrKey)
	}
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, body)); err != nil {
		return nil, nil, err
	}
	want := make([]byte, sha256.Size)
	if _, err := r.ReadAt(want, body); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case !hmac.Equal(sum.Sum(nil), want) && len(key) > 0:
		return nil, nil, fmt.Errorf("the %s: %w, or it is damaged: its HMAC does not match", f.Name, ErrKey)
	case !hmac.Equal(sum.Sum(nil), want):
		return nil, nil, fmt.Errorf("the %s is damaged: %w", f.Name, ErrDamaged)
	case version != due:
		return nil, nil, fmt.Errorf("the %s's format is version %d, this program has version %d", f.Name, version,
			f.Version)
	case length > maxHeader || int64(length) > body-start:
		return nil, nil, fmt.Errorf("the %s's header has %d bytes, must be at most %d and within the file", f.Name,
			length, maxHeader)
	}
	header = make([]byte, length)
	if _, err := r.ReadAt(header, start); err != nil {
		return nil, nil, err
	}
	start += int64(length)
	return header, io.NewSectionReader(r, start, body-start), nil
}
