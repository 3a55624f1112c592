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

// Name is the public name of a source of randomness: a root (a seed or a secret, see [Root]) and the number of one of
// its runs. It does not reveal the secret. Reports and files record which source a release used. Sources with equal
// names give equal bits for the same purpose, client and round, unless they have different salts (see Root.Salted). So
// two releases with the same name share their noise, and whoever has both can subtract it. The zero value names no
// source.
type Name struct {
	// Root is the root in public form: "seed:1" for a numbered seed, "secret:…" with a hash for a secret, or any
	// other text for a source outside this program.
	Root string `json:"root"`
	// Run is the number of the run, see Root.ForRun.
	Run uint64 `json:"run"`
}

const maxRootName = 200

const (
	seedPrefix   = "seed:"
	secretPrefix = "secret:"
)

func seedName(seed uint64) string { return seedPrefix + strconv.FormatUint(seed, 10) }

// secretName is a hash of the hash of a secret. It reveals only whether a guess of the whole secret
// is right, and finding the secret takes 2^128 guesses.
func secretName(origin [32]byte) string {
	public := hashed("proactivedp/rng/public/v1", origin[:])
	return secretPrefix + hex.EncodeToString(public[:16])
}

// Name returns the public name of r, to be recorded with a release. For the zero Root it is the zero Name.
func (r *Root) Name() Name {
	if r == nil {
		return Name{}
	}
	return r.name
}

// ForRun returns the root of run n, in [0, 2^64), of the same seed or secret. Use another run for each release, such
// as a training, so that no two releases share their noise. A release that is sent again or resumed is still the same
// run. Streams of different runs are independent, because their keys are hashes of secret and number.
//
// Run 0 is the root that New, NewFromSecret and NewFromOS return. ForRun(n) returns the same root whichever run r is
// itself: r.ForRun(2).ForRun(5) equals r.ForRun(5). It panics for the zero Root.
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

// Salted returns a root with the same public name as r, but other streams: they depend on the salt too, and are
// independent of r's streams and of those with any other salt. The salt should be random, and need not be secret.
//
// Use it in a process that may be restored to an earlier state, such as a virtual machine, with a new salt each time
// the process starts. Whatever such a process computes again then has new noise, so that two versions of a release
// never share it. Salted panics for the zero Root.
func (r *Root) Salted(salt []byte) *Root {
	if err := r.Check(); err != nil {
		panic(err)
	}
	key := hashed("proactivedp/rng/salted/v1", append(r.origin[:], salt...))
	return newRoot(key, key, Name{Root: r.name.Root}).ForRun(r.name.Run)
}

// Known reports whether n names a source. It is false for the zero Name, which means that nobody knows where the
// noise came from.
func (n Name) Known() bool { return n.Root != "" }

// Simulated reports whether n names a numbered seed, such as "seed:1". Everyone who knows the seed can compute the
// noise, so the noise protects nothing, and the run is only a simulation.
func (n Name) Simulated() bool { return strings.HasPrefix(n.Root, seedPrefix) }

// Seed returns the number of the seed that n names, such as 1 for "seed:1". The second result is false if n does not
// name a seed.
func (n Name) Seed() (uint64, bool) {
	digits, ok := strings.CutPrefix(n.Root, seedPrefix)
	seed, err := strconv.ParseUint(digits, 10, 64)
	return seed, ok && err == nil
}

// Next returns the name of the run after n of the same root, for another release. The second result is false if n is
// the last possible run, 2^64 − 1.
func (n Name) Next() (Name, bool) { return Name{n.Root, n.Run + 1}, n.Run < math.MaxUint64 }

// String returns the name as text, such as "seed 1, run 0".
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

// Validate returns an error if n cannot be the name of a source; use it for names from files. It refuses a Root that
// is empty, longer than 200 bytes or not printable ASCII. A Root that begins with "seed:" is the name of a root that
// [New] made from a number. Behind the colon it must have this number, an integer in [0, 2^64), without a sign or
// leading zeros. So each root has only one spelling, and names that look alike are equal.
func (n Name) Validate() error {
	if n.Root == "" {
		return errors.New("the name of the root is empty, must name the source of the noise, such as " +
			"\"seed:1\"")
	}
	if len(n.Root) > maxRootName {
		return fmt.Errorf("the name of the root has %d bytes, must have at most %d", len(n.Root), maxRootName)
	}
	if strings.ContainsFunc(n.Root, func(c rune) bool { return c < ' ' || c > '~' }) ||
		strings.TrimSpace(n.Root) != n.Root {
		return fmt.Errorf("the name of the root = %+q, must be printable ASCII without leading or trailing blanks",
			n.Root)
	}
	if lower := strings.ToLower(n.Root); strings.HasPrefix(lower, secretPrefix) && lower != n.Root {
		return fmt.Errorf("the name of the root = %q, must be in lower case, as %q", n.Root, lower)
	} else if strings.HasPrefix(lower, seedPrefix) {
		if seed, ok := n.Seed(); !ok || seedName(seed) != n.Root {
			return fmt.Errorf("the name of the root = %q, must have a seed in [0, 2^64), as \"seed:1\"", n.Root)
		}
	}
	return nil
}
