package privacy

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"proactivedp/dp"
)

// What is wrong with a question is said with the names of flags, and is still the same error.
func TestErrorsInFlagsKeepWhatTheyWrap(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.Flags().Float64("sigma", 1, "")
	err := errors.Join(fmt.Errorf("sigma = 0, must be above 0: %w", dp.ErrNotCovered),
		errors.New("rate = 2, must be in (0, 1]"))
	got := inFlags(cmd, err)
	want := "--sigma = 0, must be above 0: " + dp.ErrNotCovered.Error() + "\nrate = 2, must be in (0, 1]"
	if got.Error() != want || !errors.Is(got, dp.ErrNotCovered) {
		t.Errorf("%q, wraps: %v; want %q", got, errors.Is(got, dp.ErrNotCovered), want)
	}
	if err := inFlags(cmd, nil); err != nil {
		t.Errorf("no error: %v", err)
	}
}
