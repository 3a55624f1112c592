package report

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar shows how far an amount of work has come: on a terminal as a bar with the
// time left, elsewhere, as in a log, as a line for each tenth, of the first second
// only for the whole. It may be used by several goroutines at a time.
type Bar struct {
	bar *progressbar.ProgressBar // on a terminal, else nil

	mu     sync.Mutex
	w      io.Writer // a log
	what   string
	work   int64 // at most 0: not known
	done   int64
	tenths int64 // that have a line
	start  time.Time
}

// barWidth is the width of a bar in columns where the terminal has room for it
// and for what stands beside it.
const barWidth, besideBar = 30, 50

// NewBar returns a bar over an amount of work, shown on w; nil shows nothing. What
// is done stands beside the bar and in each line.
func NewBar(w io.Writer, what string, work int64) *Bar {
	return newBar(w, Columns(w), what, max(work, 1))
}

// NewByteBar returns a bar over a number of bytes, -1 if it is not known: then a
// log gets no lines.
func NewByteBar(w io.Writer, what string, size int64) *Bar {
	return newBar(w, Columns(w), what, size, progressbar.OptionShowBytes(true))
}

// newBar returns a bar on a terminal of so many columns; 0: in a log.
func newBar(w io.Writer, columns int, what string, work int64, options ...progressbar.Option) *Bar {
	if w == nil {
		w = io.Discard
	}
	b := &Bar{w: w, what: what, work: work, start: time.Now()}
	if columns > 0 {
		b.bar = progressbar.NewOptions64(work, append(options,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(what),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(250*time.Millisecond),
			progressbar.OptionSetWidth(max(1, min(barWidth, columns-besideBar))),
			progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }),
		)...)
	}
	return b
}

// Add adds work that has been done; a negative amount takes it back.
func (b *Bar) Add(work int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(b.done + work)
}

// Set says how much work has been done.
func (b *Bar) Set(work int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(work)
}

func (b *Bar) set(done int64) {
	b.done = done
	if b.bar != nil {
		b.bar.Set64(min(done, max(b.work, 1)))
		return
	}
	if b.work < 1 {
		return
	}
	tenths := int64(10 * (float64(done) / float64(b.work)))
	if tenths <= b.tenths {
		return
	}
	took := time.Since(b.start)
	if took < time.Second && tenths < 10 {
		return
	}
	b.tenths = tenths
	left := time.Duration(float64(took) * (float64(b.work)/float64(done) - 1))
	fmt.Fprintf(b.w, "%s: %d %% after %v", b.what, 10*tenths, took.Round(time.Second))
	if left > 0 {
		fmt.Fprintf(b.w, ", about %v left", left.Round(time.Second))
	}
	fmt.Fprintln(b.w)
}

// Describe says what is being done from now on.
func (b *Bar) Describe(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what = what
	if b.bar != nil {
		b.bar.Describe(what)
	}
}

// Close ends the showing.
func (b *Bar) Close() {
	if b.bar != nil {
		b.bar.Exit()
	}
}

// Clear takes the bar off the terminal; lines in a log stay.
func (b *Bar) Clear() {
	if b.bar != nil {
		b.bar.Clear()
	}
}

// LongRun is the work of some ten seconds of large networks, from which one of many batches of runs
// shows its progress.
const LongRun = 1e12

// patience is how long a run goes on without a word. Its work does not say how long it will take:
// that of small models takes a hundred times as long as as much of large networks.
const patience, mayBeLong = 3 * time.Second, LongRun / 100

// LongBar returns a function that shows which part of a run is done, from when it has lasted a while,
// and one that ends the showing. The first is nil if the run cannot be long or w is nil.
func LongBar(w io.Writer, what string, work float64) (show func(part float64), finish func()) {
	if w == nil || work < mayBeLong {
		return nil, func() {}
	}
	bar := NewBar(w, what, int64(work))
	if bar.bar != nil {
		bar.bar.StartWithoutRender() // its clock begins with the run, not where it is shown
	}
	var shown atomic.Bool
	show = func(part float64) {
		if shown.Load() || time.Since(bar.start) >= patience {
			shown.Store(true)
			bar.Set(int64(part * work))
		}
	}
	return show, func() {
		if shown.Load() {
			bar.Close()
		}
	}
}
