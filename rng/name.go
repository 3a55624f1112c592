package rng

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Name says in public which root, and which run of it, randomness comes from. Equal
// names are equal bits at equal places: two releases with one name share their noise,
// and who has both can take it off. The zero value names nothing.
type Name struct {
	Root string `json:"root"` // "seed:1" of a numbered seed, "secret:…" of a secret, or anybody's own text
	Run  uint64 `json:"run"`
}

// maxRootName bounds the name of a root, in bytes.
const maxRootName = 200

const (
	seedPrefix   = "seed:"
	secretPrefix = "secret:"
)

func seedName(seed uint64) string { return seedPrefix + strconv.FormatUint(seed, 10) }

// secretName is a hash of what the secret hashes to. It tells no more of a secret than
// whether a guess of all of it is right, and that takes 2^128 of them.
func secretName(origin [32]byte) string {
	public := hashed("proactivedp/rng/public/v1", origin[:])
	return secretPrefix + hex.EncodeToString(public[:16])
}

// Name returns the public name of r's streams. A root without a key has none.
func (r *Root) Name() Name {
	if r == nil {
		return Name{}
	}
	return r.name
}

// ForRun returns the root of r's run number n, in [0, 2^64), whatever run r is of:
// run 0 is the root as New, NewFromSecret and NewFromOS return it. A run is one
// release: a training, a leg of one, a task on the same data. Streams of different
// runs are independent, their keys being hashes of root and number; what is sent
// again, or resumed, is the same run. It panics for a root without a key.
func (r *Root) ForRun(n uint64) *Root {
	if err := r.Check(); err != nil {
		panic(err)
	}
	key := r.origin
	if n > 0 {
		key = hashed("proactivedp/rng/number/v1", binary.LittleEndian.AppendUint64(r.origin[:], n))
	}
	return newRoot(r.origin, key, Name{r.name.Root, n})
}

// Salted returns a root with r's public name whose streams also depend on the salt. They are
// independent of r's streams and of those under any other salt. A process that may be restored to
// an earlier state should draw a new salt each time it starts. Then anything that it computes again
// has fresh noise, and its releases still show by their name that they belong to one run. The salt
// should be random, and need not be secret. Salted panics for a root without a key.
func (r *Root) Salted(salt []byte) *Root {
	if err := r.Check(); err != nil {
		panic(err)
	}
	key := hashed("proactivedp/rng/salted/v1", append(r.origin[:], salt...))
	return newRoot(key, key, Name{Root: r.name.Root}).ForRun(r.name.Run)
}

// Known reports whether n names a root.
func (n Name) Known() bool { return n.Root != "" }

// Simulated reports whether n is of a numbered seed: whoever has the name has the
// noise as well.
func (n Name) Simulated() bool { return strings.HasPrefix(n.Root, seedPrefix) }

// Seed returns the numbered seed that n is of; false if it is of none.
func (n Name) Seed() (uint64, bool) {
	digits, ok := strings.CutPrefix(n.Root, seedPrefix)
	seed, err := strconv.ParseUint(digits, 10, 64)
	return seed, ok && err == nil
}

// Next returns the name of the run after n's; false if n is the last of its root.
func (n Name) Next() (Name, bool) { return Name{n.Root, n.Run + 1}, n.Run < math.MaxUint64 }

// String returns the name for people, such as "seed 1, run 0".
func (n Name) String() string {
	if !n.Known() {
		return "no root named"
	}
	root := n.Root
	if n.Simulated() {
		root = "seed " + strings.TrimPrefix(root, seedPrefix)
	}
	return fmt.Sprintf("%s, run %d", root, n.Run)
}

// Validate reports that n, as it was read, cannot name a root: that it is empty, longer
// than 200 bytes, not of printable ASCII, or of a seed that is no whole number in
// [0, 2^64) as New writes it. Two spellings of one root would pass for two, and so would
// two that look alike, as in other alphabets.
func (n Name) Validate() error {
	if n.Root == "" {
		return errors.New("the name of the root is empty, must say which root the noise is from, such as " +
			"\"seed:1\"")
	}
	if len(n.Root) > maxRootName {
		return fmt.Errorf("the name of the root has %d bytes, must have at most %d", len(n.Root), maxRootName)
	}
	if strings.ContainsFunc(n.Root, func(c rune) bool { return c < ' ' || c > '~' }) ||
		strings.TrimSpace(n.Root) != n.Root {
		return fmt.Errorf("the name of the root = %+q, must be of printable ASCII, without blanks around it",
			n.Root)
	}
	if lower := strings.ToLower(n.Root); strings.HasPrefix(lower, secretPrefix) && lower != n.Root {
		return fmt.Errorf("the name of the root = %q, must be in small letters, as %q", n.Root, lower)
	} else if strings.HasPrefix(lower, seedPrefix) {
		if seed, ok := n.Seed(); !ok || seedName(seed) != n.Root {
			return fmt.Errorf("the name of the root = %q, must be of a seed in [0, 2^64), as \"seed:1\"", n.Root)
		}
	}
	return nil
}
