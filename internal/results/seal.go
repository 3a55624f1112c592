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
	"proactivedp/internal/files"
	"proactivedp/internal/strictjson"
)

// emptySeal is the place of a manifest's own digest while the digest is computed.
const emptySeal = `"manifest_sha256": ""`

// WriteManifest writes a manifest as JSON. Its key manifest_sha256 becomes the SHA-256 of the file with that key
// empty. The digest detects damage, but not forgery.
func WriteManifest(w io.Writer, manifest any) error {
	var text bytes.Buffer
	if err := files.JSON(manifest)(&text); err != nil {
		return err
	}
	if bytes.Count(text.Bytes(), []byte(emptySeal)) != 1 {
		return errors.New("it must have one key manifest_sha256, and its value must be empty")
	}
	_, err := w.Write(bytes.Replace(text.Bytes(), []byte(emptySeal), []byte(seal(sha256.Sum256(text.Bytes()))), 1))
	return err
}

func seal(sum [sha256.Size]byte) string {
	return `"manifest_sha256": "` + hex.EncodeToString(sum[:]) + `"`
}

// ErrDamaged is the error, usually wrapped, for a manifest or data that were changed after they were written.
var ErrDamaged = errors.New("damaged: its content does not match its SHA-256")

// maxBytes is the largest size of a manifest, in bytes.
const maxBytes = 16 << 20

// ReadManifest reads the manifest of a folder in dir. into points to a value of the type that was written, which may
// have defaults. If the manifest was changed, the error is ErrDamaged. An unknown key is an error, too. A manifest
// without a digest, such as that of bench -scale, is not checked.
func ReadManifest(dir, folder string, into any) error {
	text, err := ManifestText(dir, folder)
	if err != nil {
		return err
	}
	if err := strictjson.Decode(text, into); err != nil {
		return fmt.Errorf("manifest %s: %w", filepath.Join(dir, folder, ManifestFile), err)
	}
	return nil
}

// ManifestText returns the text of the manifest of a folder in dir, whatever the kind of result, or ErrDamaged.
// Symbolic links are not followed, because the folder may come from somebody else.
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

// check returns ErrDamaged if the digest inside the manifest text does not match the rest of the
// text.
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
