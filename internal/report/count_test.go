package report

import (
	"strings"
	"testing"
	"time"
)

func TestCountIsToldFromTimeToTime(t *testing.T) {
	var b strings.Builder
	c := NewCount(&b, "proxies")
	c.Done(1)
	c.start, c.told = c.start.Add(-time.Minute), c.told.Add(-everySoOften)
	c.Done(2)
	c.Done(3)
	if got, want := b.String(), "proxies: 2 done after 1m0s\n"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	silent := NewCount(nil, "proxies")
	silent.told = time.Time{}
	silent.Done(1)
}
