package report

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCountIsToldFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c, silent := NewCount(&log, "proxies"), NewCount(nil, "proxies")
		for n := range 12 {
			c.Done(n)
			silent.Done(n)
			time.Sleep(everySoOften / 5)
		}
		if got, want := log.String(), "proxies: 5 done after 5s\nproxies: 10 done after 10s\n"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}
