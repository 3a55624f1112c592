package main

import (
	"bytes"
	"image/png"
	"io"
	"strings"
	"testing"

	"proactivedp/plan"
)

func TestDrawFrontier(t *testing.T) {
	sigma := 3.0
	frontier := &plan.Frontier{N: 10, Epochs: 1, Accountant: "pld", Rows: []plan.Row{{SampleSize: 1, Rounds: 10}, {SampleSize: 10, Rounds: 1, AddOrRemove: &sigma}}}
	isPicture(t, func(w io.Writer) error { return drawFrontier(w, frontier) })
	frontier.Rows = frontier.Rows[:1]
	if err := drawFrontier(io.Discard, frontier); err == nil || !strings.Contains(err.Error(), "N = 10") {
		t.Errorf("a frontier without any σ: %v, want an error that says so", err)
	}
}

func isPicture(t *testing.T, draw func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&b); err != nil {
		t.Error(err)
	}
}
