package manifest

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"proactivedp/internal/bounded"
)

// WriteTable writes a table, the header first, as the data of a figure.
func WriteTable(w io.Writer, table [][]string) error { return csv.NewWriter(w).WriteAll(table) }

// Digest returns the SHA-256 of a table as [WriteTable] writes it, for the manifest beside it.
func Digest(table [][]string) (string, error) {
	sum := sha256.New()
	if err := WriteTable(sum, table); err != nil {
		return "", fmt.Errorf("manifest: table: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// maxTable bounds the data of a figure, in bytes.
const maxTable = 64 << 20

// ReadTable returns the text of the data in the folder of a figure, and reports by ErrDamaged
// what is not of the digest in its manifest. A manifest of an older version has none, "".
func ReadTable(dir, digest string) ([]byte, error) {
	path := filepath.Join(dir, TableFile)
	text, err := bounded.File(path, maxTable)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); digest != "" && digest != hex.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("data %s: %w", path, ErrDamaged)
	}
	return text, nil
}
