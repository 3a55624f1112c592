package experiments

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"proactivedp/sim"
)

// Pinned returns the spec with the SHA-256 of every trace that it names, so that
// what a cell or a manifest says is about content, whatever is in the file later.
// A file that is not what the spec was pinned to is an error.
func (s TrainSpec) Pinned() (TrainSpec, error) {
	p, err := s.parse()
	if err != nil {
		return s, err
	}
	return s.readTraces(&p)
}

// readTraces reads the traces into p and returns the pinned spec.
func (s TrainSpec) readTraces(p *parsed) (TrainSpec, error) {
	for _, part := range []struct {
		d    *sim.Duration
		hash *string
	}{{&p.compute, &s.ComputeTrace}, {&p.latency, &s.LatencyTrace}} {
		if part.d.Kind != sim.TraceDuration {
			if *part.hash != "" {
				return s, fmt.Errorf("experiments: trace SHA-256 = %s of %v, which is no trace", *part.hash, part.d)
			}
			continue
		}
		text, err := os.ReadFile(part.d.File)
		if err != nil {
			return s, fmt.Errorf("experiments: trace: %w", err)
		}
		sum := sha256.Sum256(text)
		hash := hex.EncodeToString(sum[:])
		if *part.hash != "" && *part.hash != hash {
			return s, fmt.Errorf("experiments: trace %s has the SHA-256 %s, must have %s", part.d.File, hash, *part.hash)
		}
		*part.hash = hash
		if part.d.Trace, err = sim.ParseTrace(bytes.NewReader(text)); err != nil {
			return s, fmt.Errorf("%w (in %s)", err, part.d.File)
		}
	}
	return s, nil
}
