package clock

import "testing"

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
