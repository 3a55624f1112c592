package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// On a terminal, a command that shows nothing for two seconds gets a line, which is gone before the next
// output. A command that waits for others gets none, and neither does a log.
func TestNobodyWaitsInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := &Screen{w: &out, columns: 30}
		shown := func() string { // since the last call
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			defer out.Reset()
			return out.String()
		}
		stop := s.Watch()
		expect := func(when, want string) {
			t.Helper()
			if got := shown(); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		time.Sleep(time.Minute)
		expect("before anything began", "")
		s.Begin("proactivedp propose")
		time.Sleep(LongestSilence)
		expect("after a while", eraseLine+"proactivedp propose: still wo")
		fmt.Fprintln(s, "done")
		expect("then", eraseLine+"done\n")
		time.Sleep(LongestSilence)
		expect("after another while", eraseLine+"proactivedp propose: still wo")
		stop()
		expect("at the end", eraseLine)
	})
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := NewScreen(&log, false)
		defer s.Watch()()
		s.Begin("proactivedp propose")
		time.Sleep(time.Hour)
		if log.Len() > 0 {
			t.Errorf("a log has %q", &log)
		}
	})
}

// For a program, every line is JSON: messages, also those written in pieces, and progress at most each second.
func TestProgressAsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := NewScreen(&out, true)
		s.Begin("proactivedp train")
		fmt.Fprint(s, "proactivedp: one\ntw")
		fmt.Fprint(s, "o\n")
		s.Error("three\nfour", "wrong")
		bar := NewBar(s, "training", 100)
		time.Sleep(time.Second)
		for range 4 {
			bar.Add(25)
			time.Sleep(time.Second / 2)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			var e Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
		want := []string{`{"event":"message","text":"proactivedp: one"}`, `{"event":"message","text":"two"}`,
			`{"event":"error","text":"three\nfour","kind":"wrong"}`,
			`{"event":"progress","what":"training","done":0.25,"seconds":1,"seconds_left":3}`,
			`{"event":"progress","what":"training","done":0.75,"seconds":2,"seconds_left":0.666666666}`,
			`{"event":"progress","what":"training","done":1,"seconds":2.5}`}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
	if CheckProgress("JSON") == nil || CheckProgress("") != nil || CheckProgress("json") != nil {
		t.Error("the values of " + ProgressEnv)
	}
}

// A large file shows how much of it was read; a small one nothing.
func TestReadingIsShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.csv")
	if err := os.WriteFile(path, make([]byte, 2*smallFile), 0o666); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]string{2 * smallFile: "reading large.csv: 50 % after 2s, about 2s left\n", smallFile - 1: ""} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			in, finish := Reading(&log, f)
			defer finish()
			time.Sleep(patience)
			if n, err := in.Read(make([]byte, smallFile)); err != nil || log.String() != want {
				t.Errorf("%d bytes of %d read, %v: %q, want %q", n, size, err, &log, want)
			}
		})
	}
}

// Several goroutines may write while the wait is shown (tested with -race).
func TestScreenOfManyGoroutines(t *testing.T) {
	var out strings.Builder
	s := &Screen{w: &out, columns: 80}
	s.Begin("test")
	stop := s.Watch()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				fmt.Fprintln(s, "line")
				s.wait()
				s.Clear()
			}
		})
	}
	all.Wait()
	stop()
	if n := strings.Count(out.String(), "line\n"); n != 400 {
		t.Errorf("%d lines, must be 400", n)
	}
}
