package closedform

import (
	"testing"

	"proactivedp/dp"
)

func BenchmarkGamma(b *testing.B) {
	for b.Loop() {
		if _, err := Gamma(Corrected, 0.5, 1e-5, 10); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAccountant(b *testing.B) {
	events := []dp.Event{event(10000, 55, 909, 13.1)}
	for b.Loop() {
		if _, err := (Accountant{}).Epsilon(b.Context(), events, 1e-4); err != nil {
			b.Fatal(err)
		}
	}
}
