package report

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A log gets a line for each tenth, with what is done, and nothing else; work that
// is taken back and done again gets none.
func TestLogGetsALineForEachTenth(t *testing.T) {
	synctest.Test(t, logGetsALineForEachTenth)
}

func logGetsALineForEachTenth(t *testing.T) {
	var log strings.Builder
	bar := NewBar(&log, "training 0/2", 1000)
	time.Sleep(time.Second)
	for range 55 {
		bar.Add(10)
	}
	bar.Add(-300)
	bar.Describe("training 1/2")
	for range 75 {
		bar.Add(10)
	}
	bar.Close()
	lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
	if len(lines) != 10 {
		t.Fatalf("%d lines, must be 10:\n%s", len(lines), &log)
	}
	for i, line := range lines {
		want := regexp.MustCompile(`^training 0/2: [1-5]0 % after \d+m?s(, about \d+m?s left)?$`)
		if i >= 5 {
			want = regexp.MustCompile(`^training 1/2: ([6-9]0|100) % after \d+m?s(, about \d+m?s left)?$`)
		}
		if !want.MatchString(line) {
			t.Errorf("line %d is %q", i, line)
		}
	}
	if strings.ContainsAny(log.String(), "\r\x1b█") {
		t.Errorf("there is a bar in the log: %q", log.String())
	}
}

// What is done at once has one line, of the whole.
func TestLogOfAShortWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		bar := NewBar(&log, "training", 10)
		for range 9 {
			bar.Add(1)
		}
		if log.Len() > 0 {
			t.Errorf("said at once: %s", &log)
		}
		bar.Add(1)
		if want := "training: 100 % after 0s\n"; log.String() != want {
			t.Errorf("said %q, want %q", &log, want)
		}
	})
}

// If the first tenth takes more than two seconds, there is one line before it.
func TestLogOfASlowBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		bar := NewBar(&log, "proxies", 100)
		for range 12 {
			time.Sleep(time.Second)
			bar.Add(1)
		}
		want := "proxies: 2 % after 2s, about 1m38s left\nproxies: 10 % after 10s, about 1m30s left\n"
		if log.String() != want {
			t.Errorf("the log is %q, want %q", &log, want)
		}
	})
}

// A tenth that is stepped over has no line, and bytes of an unknown number none.
func TestLogOfLongSteps(t *testing.T) {
	synctest.Test(t, logOfLongSteps)
}

func logOfLongSteps(t *testing.T) {
	var log strings.Builder
	bar := NewBar(&log, "accounting", 3)
	time.Sleep(time.Second)
	bar.Add(1)
	bar.Add(2)
	if got := strings.Count(log.String(), "\n"); got != 2 || !strings.Contains(log.String(), "accounting: 30 %") ||
		!strings.Contains(log.String(), "accounting: 100 %") {
		t.Errorf("the log is %q", &log)
	}
	log.Reset()
	NewByteBar(&log, "phishing", -1).Add(1 << 20)
	NewBar(nil, "nothing", 10).Add(10)
	if log.Len() > 0 {
		t.Errorf("the log is %q", &log)
	}
}

// On a terminal a bar is drawn, with what is done and the time left, and no line; it
// gets narrower with the terminal.
func TestBarOnATerminal(t *testing.T) {
	for columns, width := range map[int]int{200: barWidth, 60: 10, 20: 1} {
		var screen strings.Builder
		bar := newBar(&screen, columns, "training 0/2", 10)
		bar.Describe("training 2/2")
		bar.Add(10)
		bar.Close()
		if got := strings.Count(screen.String(), "█"); got != width ||
			!strings.Contains(screen.String(), "training 2/2 100%") {
			t.Errorf("on %d columns there are %d of a bar, must be %d: %q", columns, got, width, &screen)
		}
		if strings.Contains(screen.String(), "after") {
			t.Errorf("there are lines of a log on the terminal: %q", &screen)
		}
	}
}

// A run says how far it is from when it has lasted a while, however little work it is: a small model
// took a minute without a word. One that is over before says nothing.
func TestLongRunsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		show, finish := LongBar(&log, "training", LongRun/10)
		time.Sleep(patience / 3)
		show(0.3)
		if log.Len() > 0 {
			t.Errorf("said at once: %s", &log)
		}
		time.Sleep(patience)
		show(0.4)
		finish()
		if want := "training: 40 % after 3s, about 4s left\n"; log.String() != want {
			t.Errorf("said %q, want %q", &log, want)
		}
	})
	if show, _ := LongBar(&strings.Builder{}, "training", mayBeLong/2); show != nil {
		t.Error("a run that cannot last is watched")
	}
}

// A search shows its tenths as lines, and nothing if it is soon over.
func TestLinesOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		NewLines(&log, "proxies", 10).Set(10)
		b := NewLines(&log, "proxies", 10)
		time.Sleep(patience)
		b.Set(4)
		b.Set(10)
		if want := "proxies: 40 % after 2s, about 3s left\nproxies: 100 % after 2s\n"; log.String() != want {
			t.Errorf("said %q, want %q", &log, want)
		}
	})
}
