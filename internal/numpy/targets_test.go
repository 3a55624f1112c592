package numpy

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/internal/testkit"
)

// Targets are numbers of any type, scaled by their bounds. Errors do not show them.
func TestTargets(t *testing.T) {
	x := testkit.Of("<f4", []int{3, 2}, rows3x2...)
	read := func(y testkit.Array, o Options) (*data.Dataset, error) {
		return ParseFile(written(t, "f.npz", packed(t, false, member("X", x), member("y", y))), o)
	}
	bounds := &data.TargetBounds{Low: 0, High: 8}
	for _, y := range []testkit.Array{
		testkit.Of("<f8", []int{3}, 4, -1e300, 6), testkit.Of("<f4", []int{3, 1}, float32(4), 0, 6), testkit.Of("<i8", []int{3}, int64(4), -7, 6),
	} {
		d, err := read(y, Options{Target: bounds})
		if err != nil || !reflect.DeepEqual(d.Targets.Value, []float32{0, -1, 0.5}) || d.Validate() != nil {
			t.Errorf("%s: %+v, %v", y.Descr, d, err)
		}
	}
	refuse := &data.TargetBounds{Low: 0, High: 8, Refuse: true}
	for _, c := range []struct {
		y     testkit.Array
		o     Options
		wants string
	}{
		{testkit.Of("<f8", []int{3}, 1, math.NaN(), 2), Options{Target: bounds}, "row 2: the target must be a finite"},
		{testkit.Of("<f8", []int{3}, 1, 2, 123.5), Options{Target: refuse}, "row 3: the target must be in the given bounds [0, 8]"},
		{testkit.Texts(3, "1", "2", "3"), Options{Target: bounds}, "must be numbers"},
		{zeroOne(3), Options{Target: bounds, Labels: labels(t, "0,1")}, "must be one of them"},
		{zeroOne(3), Options{Target: &data.TargetBounds{}}, "LOW < HIGH"},
	} {
		if _, err := read(c.y, c.o); err == nil || !strings.Contains(err.Error(), c.wants) || strings.Contains(err.Error(), "123.5") {
			t.Errorf("%v, want %q", err, c.wants)
		}
	}
	if d, err := read(zeroOne(3), Options{Target: bounds, Unlabelled: true}); err != nil || d.Validate() != nil {
		t.Errorf("without targets: %v", err)
	}
}
