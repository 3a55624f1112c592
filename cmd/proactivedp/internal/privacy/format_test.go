package privacy

import (
	"math"
	"testing"
)

func TestShownNumbers(t *testing.T) {
	for v, want := range map[float64][2]string{0: {"0", "0"}, 1.0000001: {"1.00001", "1"}, math.Inf(1): {"-", "-"}} {
		if up, down := shownUp(v), shownDown(v); up != want[0] || down != want[1] {
			t.Errorf("%v is shown as %s and %s, want %v", v, up, down, want)
		}
	}
}
