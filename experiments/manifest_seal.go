package experiments

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// emptySeal is how a manifest's own digest stands in it while it is taken.
const emptySeal = `"manifest_sha256": ""`

// writeManifest writes a manifest, which has the key manifest_sha256: the SHA-256
// of the file with that key empty. It tells a manifest that was damaged, not one
// that somebody made.
func writeManifest(w io.Writer, manifest any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(manifest); err != nil {
		return err
	}
	if bytes.Count(text.Bytes(), []byte(emptySeal)) != 1 {
		return errors.New("experiments: a manifest must have one key manifest_sha256, which is empty")
	}
	_, err := w.Write(bytes.Replace(text.Bytes(), []byte(emptySeal), []byte(seal(sha256.Sum256(text.Bytes()))), 1))
	return err
}

func seal(sum [sha256.Size]byte) string {
	return `"manifest_sha256": "` + hex.EncodeToString(sum[:]) + `"`
}

// errManifest reports a manifest that is not as it was written.
var errManifest = errors.New("damaged: its SHA-256 is not that of its content")

// checkSeal reports a manifest whose digest is not its content's. One without the
// key is of an older version of this program and is taken as it is, if it has no
// key that is unknown.
func checkSeal(text []byte) error {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return err
	}
	if m.SHA256 == "" {
		if bytes.Contains(bytes.ToLower(text), []byte("manifest_sha256")) {
			return errManifest
		}
		return nil
	}
	has := []byte(`"manifest_sha256": "` + m.SHA256 + `"`)
	blank := bytes.Replace(text, has, []byte(emptySeal), 1)
	if len(blank) == len(text) || !bytes.Equal(has, []byte(seal(sha256.Sum256(blank)))) {
		return errManifest
	}
	return nil
}
