package privacy

import (
	"bytes"
	"image/png"
	"testing"

	"proactivedp/audit"
)

// Curves that have one point, or none but the last on logarithmic axes, are drawn, too.
func TestROCOfExtremeScores(t *testing.T) {
	for name, score := range map[string]func(i int) float64{
		"equal":    func(int) float64 { return 1 },
		"perfect":  func(i int) float64 { return float64(i % 2) },
		"reversed": func(i int) float64 { return -float64(i % 2) },
		"distinct": func(i int) float64 { return float64(i) },
	} {
		var s audit.Scores
		for i := range 40 {
			s.Member, s.Score = append(s.Member, i%2 == 1), append(s.Score, score(i))
		}
		r, err := s.Audit(audit.ScoresOptions{Delta: 1e-5, Confidence: 0.95})
		if err != nil {
			t.Fatal(err)
		}
		var picture bytes.Buffer
		if err := drawROC(&picture, r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := png.DecodeConfig(&picture); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
