package auto

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/rng"
)

// secretFile holds the secret of the stage under way if randomness comes from the operating system.
// With it, a stage that was charged and then interrupted gives the same bits when it runs again, so it
// is not released twice with different noise. The file is removed as soon as the stage is trained.
const secretFile = "stage.secret"

// newSecret draws a secret, writes it to a file that only its owner can read, and returns the public
// name of its root.
func newSecret(dir string) (string, error) {
	secret, err := rng.NewSecret()
	if err != nil {
		return "", err
	}
	root, err := rng.NewFromSecret(secret)
	if err != nil {
		return "", err
	}
	// An old secret belongs to a stage that was never charged, so no ledger needs it.
	if err := forgetSecret(dir); err != nil {
		return "", err
	}
	err = files.WritePrivate(filepath.Join(dir, secretFile), files.Text(hex.EncodeToString(secret)+"\n"))
	return root.Name().Root, err
}

// maxSecretFile is the largest size of the file, in bytes.
const maxSecretFile = 4 * rng.MinSecret

// errLostSecret reports that the folder does not have the secret of the stage under way.
var errLostSecret = errors.New("the stage is charged with noise from this secret, and other noise must not " +
	"replace it: restore the file")

// readSecret returns the root of the folder's secret. Its public name must be name.
func readSecret(dir, name string) (*rng.Root, error) {
	path := filepath.Join(dir, secretFile)
	text, err := bounded.Within(dir, secretFile, maxSecretFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: %w", path, errLostSecret)
	}
	if errors.Is(err, bounded.ErrTooLarge) {
		return nil, fmt.Errorf("secret of a stage: %w: %w", err, errLostSecret)
	}
	if err != nil {
		return nil, fmt.Errorf("secret of a stage: %w", err)
	}
	secret, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(secret) != rng.MinSecret {
		return nil, fmt.Errorf("%s is damaged, it must hold %d bytes in hexadecimal: %w", path, rng.MinSecret,
			errLostSecret)
	}
	root, err := rng.NewFromSecret(secret)
	if err != nil {
		return nil, err
	}
	if got := root.Name().Root; got != name {
		return nil, fmt.Errorf("%s is the secret of %s, but the stage under way is charged with noise of %s: %w",
			path, got, name, errLostSecret)
	}
	return root, nil
}

// forgetSecret removes the folder's secret, if it has one.
func forgetSecret(dir string) error {
	err := os.Remove(filepath.Join(dir, secretFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("secret of a stage: %w", err)
	}
	return nil
}
