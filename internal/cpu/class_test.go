package cpu

import "testing"

func TestParseClassInvertsString(t *testing.T) {
	for c := Portable; c <= NEON; c++ {
		if got, err := ParseClass(c.String()); got != c || err != nil {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
	for _, name := range []string{"", "AVX2", "avx", "sse2", Class(7).String(), Class(-1).String()} {
		if c, err := ParseClass(name); err == nil {
			t.Errorf("%q is %v", name, c)
		}
	}
}
