// This file is what a command writes to stderr: messages, progress and, on a terminal, a line that shows that
// the command still works.

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// ProgressEnv is the name of the environment variable that says how progress is shown: "" for a person, "json" for a
// program.
const ProgressEnv = "PROACTIVEDP_PROGRESS"

// CheckProgress returns an error if value is not a valid value of the environment variable ProgressEnv.
func CheckProgress(value string) error {
	if value != "" && value != "json" {
		return fmt.Errorf("%s = %.40q, must be json, or must not be set", ProgressEnv, value)
	}
	return nil
}

// Screen writes the messages of a command to stderr, and shows that the command still works. On a terminal, if
// nothing was written for [LongestSilence], a line says what is being done and for how long, until something else is
// written. If messages are written as JSON, each line is an [Event]. Several goroutines may use a Screen.
type Screen struct {
	mu      sync.Mutex
	w       io.Writer
	columns int // of the terminal; 0 if w is none, or for JSON
	json    bool
	line    []byte // as JSON: a message whose end is still to come
	what    string // what is under way; "" shows nothing
	since   time.Time
	wrote   time.Time // when something was written last
	waiting string    // the last line of the terminal, if it shows the wait
}

// Event is a line of JSON on stderr: a message, the error that ends the command, or the progress of some
// work. For a message, Text is its line. For an error, Text has all its lines, and Kind says what kind of
// error it is. For progress, What names the work, Done is the fraction that is done, Seconds how long it
// has taken, and Left an estimate of the seconds that are left.
type Event struct {
	Event   string   `json:"event"` // message, error or progress
	Text    string   `json:"text,omitempty"`
	Kind    string   `json:"kind,omitempty"`
	What    string   `json:"what,omitempty"`
	Done    *float64 `json:"done,omitempty"`
	Seconds float64  `json:"seconds,omitempty"`
	Left    *float64 `json:"seconds_left,omitempty"`
}

// LongestSilence is the longest time for which a terminal shows nothing while a command works.
const LongestSilence = 2 * time.Second

// NewScreen returns a Screen that writes to w. If asJSON is true, it writes events.
func NewScreen(w io.Writer, asJSON bool) *Screen {
	s := &Screen{w: w, json: asJSON, since: time.Now(), wrote: time.Now()}
	if !asJSON {
		s.columns = Columns(w)
	}
	return s
}

// Begin sets what the command is doing, for the line "still working" that a terminal shows during a long silence. With
// "" there is no such line; use it for a command that waits for other processes.
func (s *Screen) Begin(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.since, s.wrote = what, time.Now(), time.Now()
}

// Watch starts the goroutine that shows the line "still working", see [Screen.Begin]. stop stops it and returns when it
// has ended.
func (s *Screen) Watch() (stop func()) {
	if s.columns == 0 {
		return func() {}
	}
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		t := time.NewTicker(LongestSilence / 8)
		defer t.Stop()
		for {
			select {
			case <-ended:
				return
			case <-t.C:
				s.wait()
			}
		}
	}()
	return func() {
		close(ended)
		<-left
		s.Clear()
	}
}

// eraseLine returns to the beginning of a line of a terminal and empties it.
const eraseLine = "\r\x1b[2K"

// wait shows what is under way, if there was no sign of it for a while.
func (s *Screen) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.what == "" || now.Sub(s.wrote) < LongestSilence*3/4 {
		return
	}
	text := []rune(fmt.Sprintf("%s: still working, %v", s.what, now.Sub(s.since).Round(time.Second)))
	if line := string(text[:min(len(text), max(s.columns-1, 0))]); line != s.waiting {
		fmt.Fprint(s.w, eraseLine, line)
		s.waiting = line
	}
}

// Clear removes the line "still working". Call it before anything other than the Screen writes to the same terminal.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Screen) clear() {
	if s.waiting != "" {
		fmt.Fprint(s.w, eraseLine)
		s.waiting = ""
	}
	s.wrote = time.Now()
}

// Write writes text. If messages are JSON, each line of text becomes an event.
func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if !s.json {
		return s.w.Write(text)
	}
	s.line = append(s.line, text...)
	for {
		line, rest, whole := bytes.Cut(s.line, []byte{'\n'})
		if !whole {
			return len(text), nil
		}
		if err := s.event(Event{Event: "message", Text: string(line)}); err != nil {
			return 0, err
		}
		s.line = rest
	}
}

// Error writes the error with which a command ends. Events also have its kind.
func (s *Screen) Error(text, kind string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.json {
		return s.event(Event{Event: "error", Text: text, Kind: kind})
	}
	_, err := fmt.Fprintf(s.w, "proactivedp: %s\n", text)
	return err
}

func (s *Screen) event(e Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = s.w.Write(append(text, '\n'))
	return err
}

func (s *Screen) progress(what string, done float64, took, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Event{Event: "progress", What: what, Done: &done, Seconds: took.Seconds()}
	if left > 0 {
		seconds := left.Seconds()
		e.Left = &seconds
	}
	s.event(e) // an error of a display is not one of the work
}
