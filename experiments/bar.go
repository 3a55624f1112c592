package experiments

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// newBar returns a progress bar over an amount of work with the time left.
func newBar(w io.Writer, work int64) *progressbar.ProgressBar {
	if w == nil {
		w = io.Discard
	}
	return progressbar.NewOptions64(max(work, 1),
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(250*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }),
	)
}

// longRun is the work, of some ten seconds, from which a run shows its progress.
const longRun = 1e12

// longBar returns what shows which part of a long run is done and what ends the
// showing. The first is nil if the run is not long or w is nil.
func longBar(w io.Writer, what string, work float64) (report func(part float64), finish func()) {
	if w == nil || work < longRun {
		return nil, func() {}
	}
	bar := newBar(w, int64(work))
	bar.Describe(what)
	return func(part float64) { bar.Set64(int64(part * work)) }, func() { bar.Exit() }
}
