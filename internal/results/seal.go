package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"proactivedp/internal/bounded"
	"proactivedp/internal/strictjson"
)

// emptySeal is how a manifest's own digest stands in it while it is taken.
const emptySeal = `"manifest_sha256": ""`

// WriteManifest writes a manifest, which has the key manifest_sha256: the SHA-256
// of the file with that key empty. It tells a manifest that was damaged, not one
// that somebody made.
func WriteManifest(w io.Writer, manifest any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(manifest); err != nil {
		return err
	}
	if bytes.Count(text.Bytes(), []byte(emptySeal)) != 1 {
		return errors.New("it must have one key manifest_sha256, which is empty")
	}
	_, err := w.Write(bytes.Replace(text.Bytes(), []byte(emptySeal), []byte(seal(sha256.Sum256(text.Bytes()))), 1))
	return err
}

func seal(sum [sha256.Size]byte) string {
	return `"manifest_sha256": "` + hex.EncodeToString(sum[:]) + `"`
}

// ErrDamaged reports a manifest, or data beside it, that are not as they were written.
var ErrDamaged = errors.New("damaged: its content is not of the SHA-256 that was written")

// maxBytes bounds a manifest, in bytes.
const maxBytes = 16 << 20

// ReadManifest reads the manifest of a folder, by its name within dir, into one of the kind that was written, which may have
// defaults, and reports one that is not as it was written, by ErrDamaged or by a key that
// is unknown. One without a digest, such as that of bench -scale, is taken as it is.
func ReadManifest(dir, folder string, into any) error {
	text, err := bounded.Within(dir, filepath.Join(folder, ManifestFile), maxBytes)
	if err != nil {
		return err
	}
	if err := errors.Join(strictjson.Decode(text, into), check(text)); err != nil {
		return fmt.Errorf("manifest %s: %w", filepath.Join(dir, folder, ManifestFile), err)
	}
	return nil
}

// ManifestText returns the text of the manifest, of any kind, of a folder, given by its name within dir, or
// ErrDamaged. Links are not followed, because somebody else may have made the folder.
func ManifestText(dir, folder string) ([]byte, error) {
	text, err := bounded.Within(dir, filepath.Join(folder, ManifestFile), maxBytes)
	if err != nil {
		return nil, err
	}
	if err := check(text); err != nil {
		return nil, fmt.Errorf("manifest %s: %w", filepath.Join(dir, folder, ManifestFile), err)
	}
	return text, nil
}

// check reports a text whose digest is not that of its content.
func check(text []byte) error {
	var m struct {
		SHA256 string `json:"manifest_sha256"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if err := strictjson.Check(text, false); err != nil {
		return err
	}
	if m.SHA256 == "" {
		if bytes.Contains(bytes.ToLower(text), []byte("manifest_sha256")) {
			return ErrDamaged
		}
		return nil
	}
	has := []byte(`"manifest_sha256": "` + m.SHA256 + `"`)
	blank := bytes.Replace(text, has, []byte(emptySeal), 1)
	if len(blank) == len(text) || !bytes.Equal(has, []byte(seal(sha256.Sum256(blank)))) {
		return ErrDamaged
	}
	return nil
}
