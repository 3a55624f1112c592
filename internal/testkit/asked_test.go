package testkit

import (
	"fmt"
	"testing"
)

// failing is a test that notes why it fails, and goes on.
type failing struct {
	testing.TB
	why string
}

func (f *failing) Helper()                        {}
func (f *failing) Fatalf(format string, a ...any) { f.why = fmt.Sprintf(format, a...) }

func TestTimes(t *testing.T) {
	const name = "PROACTIVEDP_ASKED_TEST"
	for _, c := range []struct {
		text  string
		times int
		set   bool
		why   string
	}{
		{"", 3, false, ""}, {"7", 7, true, ""},
		{"0", 0, true, `PROACTIVEDP_ASKED_TEST = "0", must be a whole number of at least 1`},
		{"many", 0, true, `PROACTIVEDP_ASKED_TEST = "many", must be a whole number of at least 1`},
	} {
		t.Setenv(name, c.text)
		var f failing
		if times, set := Times(&f, name, 3); times != c.times || set != c.set || f.why != c.why {
			t.Errorf("%q: %d, %v and %q", c.text, times, set, f.why)
		}
	}
}
