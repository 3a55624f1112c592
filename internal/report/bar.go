package report

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar shows how far an amount of work has come, with the time left. It may be
// used by several goroutines at a time.
type Bar struct{ bar *progressbar.ProgressBar }

// NewBar returns a bar over an amount of work, drawn on w; nil draws nothing.
func NewBar(w io.Writer, work int64) Bar {
	if w == nil {
		w = io.Discard
	}
	return Bar{progressbar.NewOptions64(max(work, 1),
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(250*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }),
	)}
}

// Add adds work that has been done; a negative amount takes it back.
func (b Bar) Add(work int64) { b.bar.Add64(work) }

// Set says how much work has been done.
func (b Bar) Set(work int64) { b.bar.Set64(work) }

// Describe says, beside the bar, what is being done.
func (b Bar) Describe(what string) { b.bar.Describe(what) }

// Close removes the bar.
func (b Bar) Close() { b.bar.Exit() }

// longRun is the work, of some ten seconds, from which a run shows its progress.
const longRun = 1e12

// LongBar returns a function that shows which part of a long run is done, and one
// that ends the showing. The first is nil if the run is not long or w is nil.
func LongBar(w io.Writer, what string, work float64) (show func(part float64), finish func()) {
	if w == nil || work < longRun {
		return nil, func() {}
	}
	bar := NewBar(w, int64(work))
	bar.Describe(what)
	return func(part float64) { bar.Set(int64(part * work)) }, bar.Close
}
