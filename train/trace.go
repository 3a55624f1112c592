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

// Pinned returns the spec with the SHA-256 of every file that it names: traces and initial weights. Call it before
// you store the spec with a result, so that the stored spec identifies the content of the files even if they change
// later. If the spec already has the hash of a file, and the file's content does not match it, Pinned returns an
// error.
func (s Spec) Pinned() (Spec, error) {
	p, err := s.parse()
	if err != nil {
		return s, err
	}
	if s, err = s.readTraces(&p, readTrace); err == nil && s.Initial != "" {
		_, s.InitialSHA256, err = s.readInitial(nil, nil)
	}
	return s, err
}

// readTraces reads the traces into p and returns the pinned spec.
func (s Spec) readTraces(p *parsed, read func(file string) (trace, error)) (Spec, error) {
	err := errors.Join(pin(&p.compute, &s.ComputeTrace, read), pin(&p.latency, &s.LatencyTrace, read))
	return s, err
}

// pin reads d's trace, if it is one, and compares or sets its hash.
func pin(d *clock.Duration, hash *string, read func(file string) (trace, error)) error {
	if d.Kind != clock.Traced {
		if *hash != "" {
			return fmt.Errorf("trace SHA-256 = %s for %v, which is not a trace", *hash, d)
		}
		return nil
	}
	t, err := read(d.File)
	if err != nil {
		return err
	}
	if *hash != "" && *hash != t.hash {
		return fmt.Errorf("SHA-256 of trace %s = %s, must be %s", d.File, t.hash, *hash)
	}
	d.Trace, *hash = t.times, t.hash
	return nil
}

// trace is the content of a trace's file.
type trace struct {
	times *clock.Trace
	hash  string // SHA-256 of the file
}

func readTrace(file string) (trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return trace{}, fmt.Errorf("trace: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	times, err := clock.ParseTrace(io.TeeReader(f, sum))
	if err != nil {
		return trace{}, fmt.Errorf("trace %s: %w", file, err)
	}
	return trace{times, hex.EncodeToString(sum.Sum(nil))}, nil // the hash covers the whole file, because a trace is parsed to its end
}
