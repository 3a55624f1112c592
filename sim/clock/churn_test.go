package clock

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestChurnReadsWhatItPrints(t *testing.T) {
	for _, text := range []string{"", "1s,100ms", "1h0m0s,1ns"} {
		c, err := ParseChurn(text)
		if err != nil || c.String() != text {
			t.Errorf("%q is read as %v, %v", text, c, err)
		}
	}
	for _, text := range []string{"1s", "0s,0s", "1s,0s", "-1s,1s", "2h,1s", "1s,1s,1s", "x,1s"} {
		if c, err := ParseChurn(text); err == nil {
			t.Errorf("%q is read as %v", text, c)
		}
	}
}

// A mean out of range is told by its name, and both are told at once.
func TestChurnNamesWhatIsWrong(t *testing.T) {
	const both = "mean presence = 0s, must be above 0, at most 1h0m0s\nmean absence = 1h0m0.000000001s"
	for _, c := range []struct {
		Churn
		want string
	}{
		{Churn{-time.Second, time.Second}, "mean presence = -1s, must be above 0"},
		{Churn{time.Second, 0}, "mean absence = 0s, must be above 0"},
		{Churn{0, MaxDuration + 1}, both},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.Churn, err, c.want)
		}
	}
}

// A client that is there half of the time takes twice as long, one that never leaves no
// longer.
func TestStretch(t *testing.T) {
	for _, c := range []struct {
		Churn
		want float64
	}{{Churn{}, 1}, {Churn{time.Second, time.Second}, 2}, {Churn{4 * time.Second, time.Second}, 1.25}} {
		if got := c.Stretch(); got != c.want {
			t.Errorf("%v: %v, want %v", c.Churn, got, c.want)
		}
	}
}

// Whatever speeds and churn say, what is read of them is valid, and is read again from what
// it is written as.
func FuzzParseSpeedsAndChurn(f *testing.F) {
	for _, text := range []string{"", "1,1,0.5", "lognormal:0.5", "pareto:1.5", ":1", "pareto:1", "1,", "NaN",
		"1s,100ms", "1s", "0s,0s", "1h,-1s", "2562047h,1s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSpeeds(text); err == nil {
			if err := s.Validate(len(s.List)); err != nil {
				t.Errorf("speeds %q: %v", text, err)
			}
			if again, err := ParseSpeeds(s.String()); err != nil || !reflect.DeepEqual(again, s) {
				t.Errorf("speeds %q are written as %q, which gives %v, %v", text, s, again, err)
			}
		}
		if c, err := ParseChurn(text); err == nil {
			if err := c.Validate(); err != nil {
				t.Errorf("churn %q: %v", text, err)
			}
			if again, err := ParseChurn(c.String()); err != nil || again != c {
				t.Errorf("churn %q is written as %q, which gives %v, %v", text, c, again, err)
			}
		}
	})
}
