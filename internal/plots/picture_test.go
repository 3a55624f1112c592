package plots

import (
	"math"
	"testing"
)

// No tick lies beyond the end of an axis: there would be a gap.
func TestDecadesEndWithTheAxis(t *testing.T) {
	for top := range 15 {
		hi := math.Pow10(top + 1)
		marks := decades{}.Ticks(1, hi)
		if last := marks[len(marks)-1]; last.Value != hi || last.Label == "" {
			t.Errorf("the axis to %v ends with the tick %+v", hi, last)
		}
	}
}
