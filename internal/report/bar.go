package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar shows the progress of a piece of work. On a terminal it is a bar with the remaining time. Elsewhere, for
// example in a log, it is a line for each tenth of the work, and one more after two seconds if the first tenth takes
// longer. If the work ends within a second, only the end gets a line. On a [Screen] that writes JSON it is an event at
// most once a second. Several goroutines may use a Bar at the same time.
type Bar struct {
	bar *progressbar.ProgressBar // nil unless on a terminal

	mu     sync.Mutex
	w      io.Writer // a log
	what   string
	work   int64 // at most 0: unknown
	done   int64
	tenths int64 // number of tenths that were printed
	began  bool  // something was printed, even before the first tenth
	start  time.Time
	late   bool    // nothing is shown before patience
	events *Screen // nil unless progress is shown as events
	told   time.Time
}

// barWidth is the width of a bar in columns, and besideBar the width of the text next to it.
const barWidth, besideBar = 30, 50

// NewBar returns a bar for an amount of work, in any unit, shown on w. If w is nil, nothing is shown. what describes
// the work.
func NewBar(w io.Writer, what string, work int64) *Bar {
	return newBar(w, Columns(w), what, max(work, 1))
}

// NewLines returns a Bar that prints one line for each tenth of the work, as in a log, even on a terminal.
// Use it for work whose parts may have bars of their own. If the work ends soon, it prints nothing.
func NewLines(w io.Writer, what string, work int64) *Bar {
	b := newBar(w, 0, what, max(work, 1))
	b.late = true
	return b
}

// NewByteBar returns a bar for reading or writing size bytes. If the number is unknown, size is −1, and nothing is
// printed to a log.
func NewByteBar(w io.Writer, what string, size int64) *Bar {
	return newBar(w, Columns(w), what, size, progressbar.OptionShowBytes(true))
}

// newBar returns a bar for a terminal with the given number of columns, or for a log if columns is 0.
func newBar(w io.Writer, columns int, what string, work int64, options ...progressbar.Option) *Bar {
	if w == nil {
		w = io.Discard
	}
	b := &Bar{w: w, what: what, work: work, start: time.Now()}
	if s, ok := w.(*Screen); ok && s.json {
		b.events = s
	}
	if columns > 0 {
		b.bar = progressbar.NewOptions64(work, append(options,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(what),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(250*time.Millisecond),
			progressbar.OptionSetWidth(max(1, min(barWidth, columns-besideBar))),
			progressbar.OptionSetSpinnerChangeInterval(0), // without a goroutine
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(w) }),
		)...)
	}
	return b
}

// Add adds work to what is done. work may be negative.
func (b *Bar) Add(work int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(b.done + work)
}

// Set sets how much work is done so far, in the same unit as the argument work of NewBar.
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
	if b.events != nil {
		b.tell()
		return
	}
	tenths := int64(10 * (float64(done) / float64(b.work)))
	took := time.Since(b.start)
	early := !b.began && done > 0 && took >= patience
	if tenths <= b.tenths && !early || took < time.Second && tenths < 10 || b.late && took < patience {
		return
	}
	percent := 10 * tenths
	if tenths == 0 {
		percent = int64(100 * (float64(done) / float64(b.work)))
	}
	b.tenths, b.began = tenths, true
	left := b.left(took)
	fmt.Fprintf(b.w, "%s: %d %% after %v", b.what, percent, took.Round(time.Second))
	if left > 0 {
		fmt.Fprintf(b.w, ", about %v left", left.Round(time.Second))
	}
	fmt.Fprintln(b.w)
}

// left estimates the time that is left, if the rest takes as long as what is done.
func (b *Bar) left(took time.Duration) time.Duration {
	return time.Duration(float64(took) * (float64(b.work)/float64(b.done) - 1))
}

// tell writes an event, if the last one is a second old or the work is done.
func (b *Bar) tell() {
	now := time.Now()
	if b.done <= 0 || b.done < b.work && now.Sub(b.told) < time.Second || b.late && now.Sub(b.start) < patience {
		return
	}
	b.told = now
	took := now.Sub(b.start)
	b.events.progress(b.what, min(1, float64(b.done)/float64(b.work)), took, b.left(took))
}

func (b *Bar) Describe(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what = what
	if b.bar != nil {
		b.bar.Describe(what)
	}
}

// Close ends the display.
func (b *Bar) Close() {
	if b.bar != nil {
		b.bar.Exit()
	}
}

// Clear removes the bar from the terminal. Lines in a log remain.
func (b *Bar) Clear() {
	if b.bar != nil {
		b.bar.Clear()
	}
}

// LongRun is a number of floating-point operations. If a command runs many trainings, a training with more
// operations than this shows a separate progress bar. Large networks need about ten seconds for LongRun
// operations.
const LongRun = 1e12

// patience is the time that a run may take before LongBar shows its progress. The amount of work alone cannot
// decide this, because small models take a hundred times as long per unit of work as large networks.
const patience, mayBeLong = 2 * time.Second, LongRun / 1000

// smallFile is the size, in bytes, of a file that is read at once.
const smallFile = 8 << 20

// Reading returns a reader of an open file, which shows on w how much of the file was read. finish ends the display.
// Nothing is shown for a small file, or if w is nil.
func Reading(w io.Writer, f *os.File) (in io.Reader, finish func()) {
	info, err := f.Stat()
	if w == nil || err != nil || !info.Mode().IsRegular() || info.Size() < smallFile {
		return f, func() {}
	}
	show, finish := LongBar(w, "reading "+filepath.Base(f.Name()), max(mayBeLong, float64(info.Size())))
	return &watchedReader{in: f, size: float64(info.Size()), show: show}, finish
}

// watchedReader reads a file and shows how much of it was read.
type watchedReader struct {
	in         io.Reader
	size, read float64
	show       func(part float64)
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.read += float64(n)
	if n > 0 {
		r.show(r.read / r.size)
	}
	return n, err
}

// LongBar returns two functions for a run that may be long. Call show with the completed fraction of the run; a bar
// appears once the run has lasted a while. finish ends the display. show is nil if the run cannot be long or if w is
// nil. work is the run's number of floating-point operations.
func LongBar(w io.Writer, what string, work float64) (show func(part float64), finish func()) {
	if w == nil || work < mayBeLong {
		return nil, func() {}
	}
	bar := NewBar(w, what, int64(work))
	if bar.bar != nil {
		bar.bar.StartWithoutRender() // start the clock with the run, not with the first display
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
