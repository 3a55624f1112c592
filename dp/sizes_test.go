package dp

import (
	"math"
	"reflect"
	"testing"
)

// Any accepted text of a sequence of batch sizes gives sizes in [1, 2^31-1] in every round, and can be
// read back from its own text.
func FuzzParseSizes(f *testing.F) {
	for _, text := range []string{
		"26", "1e4", "linear:10,0.5", "poly:10,0.5,1.5", "list:5,10,20",
		"poly:26,0,400", "linear:1e300,1e300", "poly:1,1e308,1e308", "linear:1,5e-324", "0", "list:", "poly:1,-1,1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSizes(text)
		if err != nil {
			return
		}
		for _, i := range []int{0, 1, 2, 6, 1000, MaxRounds, math.MaxInt32} {
			if size := s.At(i); size < 1 || size > math.MaxInt32 {
				t.Errorf("%q: s_%d = %d, must be in [1, 2^31-1]", text, i, size)
			}
		}
		if again, err := ParseSizes(s.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%q is written as %q, which gives %v, %v", text, s, again, err)
		}
	})
}
