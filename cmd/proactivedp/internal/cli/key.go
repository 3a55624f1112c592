package cli

import (
	"fmt"

	"proactivedp/internal/bounded"
)

// maxKey bounds a secret key, in bytes.
const maxKey = 4096

// ReadKey reads a secret key of at least atLeast bytes from the file at path. flag is the flag that names the file,
// for errors.
func ReadKey(flag, path string, atLeast int) ([]byte, error) {
	key, err := bounded.File(path, maxKey)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	if len(key) < atLeast {
		return nil, fmt.Errorf("--%s: %s has %d bytes, must have %d to %d", flag, path, len(key), atLeast, maxKey)
	}
	return key, nil
}
