package train

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"proactivedp/sim/clock"
)

// Pinned returns the spec with the SHA-256 of every trace that it names, so that
// what a cell or a manifest says is about content, whatever is in the file later.
// A file that is not what the spec was pinned to is an error.
func (s Spec) Pinned() (Spec, error) {
	p, err := s.parse()
	if err != nil {
		return s, err
	}
	return s.readTraces(&p)
}

// readTraces reads the traces into p and returns the pinned spec.
func (s Spec) readTraces(p *parsed) (Spec, error) {
	err := errors.Join(readTrace(&p.compute, &s.ComputeTrace), readTrace(&p.latency, &s.LatencyTrace))
	return s, err
}

// readTrace reads d's trace, if it is one, and compares or sets its hash.
func readTrace(d *clock.Duration, hash *string) error {
	if d.Kind != clock.Traced {
		if *hash != "" {
			return fmt.Errorf("train: trace SHA-256 = %s of %v, which is no trace", *hash, d)
		}
		return nil
	}
	f, err := os.Open(d.File)
	if err != nil {
		return fmt.Errorf("train: trace: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	if d.Trace, err = clock.ParseTrace(io.TeeReader(f, sum)); err != nil {
		return fmt.Errorf("train: trace %s: %w", d.File, err)
	}
	is := hex.EncodeToString(sum.Sum(nil)) // of all: a trace is parsed to its end
	if *hash != "" && *hash != is {
		return fmt.Errorf("train: trace %s has the SHA-256 %s, must have %s", d.File, is, *hash)
	}
	*hash = is
	return nil
}
