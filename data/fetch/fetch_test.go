package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"proactivedp/internal/memory"
)

const content = "1 1:1\n0 2:1\n"

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// source is a server that answers its n-th request (from 1) by answer, and
// counts them.
func source(t *testing.T, answer func(w http.ResponseWriter, n int)) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("User-Agent"); got != userAgent {
			t.Errorf("User-Agent %q, want %q", got, userAgent)
		}
		answer(w, int(requests.Add(1)))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/toy", requests
}

func serve(text string) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) { fmt.Fprint(w, text) }
}

func fail(status int) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) { http.Error(w, "no", status) }
}

// truncate promises more than it sends.
func truncate(w http.ResponseWriter, _ int) {
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	fmt.Fprint(w, content[:5])
}

// refused is a URL at which nobody listens.
func refused(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String() + "/toy"
}

func locator(t *testing.T) Locator {
	return Locator{Cache: filepath.Join(t.TempDir(), "cache"), timing: timing{pause: time.Millisecond}}
}

func toy(sources ...string) File {
	return File{Rel: "set/toy", Sources: sources, SHA256: sum(content)}
}

func (l Locator) toyPath() string { return filepath.Join(l.Cache, "set", "toy") }

// plant puts a file below the folder.
func plant(t *testing.T, folder, rel, text string) string {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantFound checks the path, the content, and that nothing else was left.
func wantFound(t *testing.T, path string, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if path != want {
		t.Errorf("found at %s, want %s", path, want)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != content {
		t.Errorf("%s holds %q, %v", path, got, err)
	}
	wantEntries(t, filepath.Dir(path), 1)
}

func wantEntries(t *testing.T, folder string, n int) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if len(entries) != n {
		t.Errorf("%s has %v, want %d files", folder, entries, n)
	}
}

// wantKind checks that err is want and no other kind, and mentions all parts.
func wantKind(t *testing.T, err, want error, mentions ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %v", want)
	}
	for _, kind := range []error{ErrUnavailable, ErrMissing, ErrDamaged, context.Canceled} {
		if errors.Is(err, kind) != (kind == want) {
			t.Errorf("errors.Is(err, %q) = %v, want the opposite; err: %v", kind, kind != want, err)
		}
	}
	for _, part := range mentions {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not mention %q: %v", part, err)
		}
	}
}

func TestDownloadFillsTheCache(t *testing.T) {
	url, requests := source(t, serve(content))
	l := locator(t)
	for range 2 {
		path, err := l.Locate(t.Context(), toy(url))
		wantFound(t, path, err, l.toyPath())
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1: the second time the cache has it", n)
	}
}

func TestSourcesInOrder(t *testing.T) {
	for name, bad := range map[string]struct {
		answer   func(http.ResponseWriter, int)
		requests int32
	}{
		"not found":       {fail(http.StatusNotFound), 1},
		"truncated":       {truncate, maxTries},
		"wrong content":   {serve("<html>log in first</html>"), 1},
		"too large":       {serve(strings.Repeat("x", 200)), 1},
		"unavailable":     {fail(http.StatusServiceUnavailable), maxTries},
		"too many":        {fail(http.StatusTooManyRequests), maxTries},
		"request timeout": {fail(http.StatusRequestTimeout), maxTries},
		"partial content": {fail(http.StatusPartialContent), 1},
		"too large, unannounced": {func(w http.ResponseWriter, _ int) {
			for range 20 {
				fmt.Fprint(w, "0123456789")
				w.(http.Flusher).Flush()
			}
		}, 1},
		"hangs up": {func(http.ResponseWriter, int) { panic(http.ErrAbortHandler) }, maxTries},
	} {
		t.Run(name, func(t *testing.T) {
			first, n1 := source(t, bad.answer)
			second, n2 := source(t, serve(content))
			l := locator(t)
			f := toy(first, second)
			f.MaxBytes = 100
			path, err := l.Locate(t.Context(), f)
			wantFound(t, path, err, l.toyPath())
			if n1.Load() != bad.requests || n2.Load() != 1 {
				t.Errorf("%d and %d requests, want %d and 1", n1.Load(), n2.Load(), bad.requests)
			}
		})
	}
}

func TestTransientFailureIsRetried(t *testing.T) {
	for name, first := range map[string]func(http.ResponseWriter, int){
		"server error": fail(http.StatusInternalServerError),
		"truncated":    truncate,
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := source(t, func(w http.ResponseWriter, n int) {
				if n == 1 {
					first(w, n)
					return
				}
				serve(content)(w, n)
			})
			l := locator(t)
			path, err := l.Locate(t.Context(), toy(url))
			wantFound(t, path, err, l.toyPath())
			if n := requests.Load(); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
		})
	}
}

func TestNoSourceHasIt(t *testing.T) {
	gone, _ := source(t, fail(http.StatusNotFound))
	wrong, _ := source(t, serve("other"))
	cut, _ := source(t, truncate)
	l := locator(t)
	dead := refused(t)
	_, err := l.Locate(t.Context(), toy(gone, wrong, cut, dead))
	wantKind(t, err, ErrUnavailable,
		"set/toy", l.toyPath(),
		gone+": 404 Not Found",
		wrong+": received 5 bytes: SHA-256 is "+sum("other")+", expected "+sum(content),
		cut+": after 5 bytes: unexpected EOF",
		dead+": no connection", "refused")
	wantEntries(t, filepath.Join(l.Cache, "set"), 0)
}

func TestNothingToDownloadFrom(t *testing.T) {
	url, requests := source(t, serve(content))
	l := locator(t)
	_, err := l.Locate(t.Context(), toy())
	wantKind(t, err, ErrUnavailable, "no download source is known", l.toyPath())

	l.Offline = true
	_, err = l.Locate(t.Context(), toy(url))
	wantKind(t, err, ErrUnavailable, "offline", l.toyPath())
	if requests.Load() != 0 {
		t.Error("a request was made although offline")
	}
}

func TestOfflineMachineDoesNotWait(t *testing.T) {
	l := locator(t)
	l.timing = timing{} // the real ones
	noName := &http.Client{Transport: &http.Transport{
		DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
				Err: "server misbehaving", Name: address, IsTemporary: true,
			}}
		},
	}}
	for name, client := range map[string]*http.Client{"refused": nil, "no name": noName} {
		t.Run(name, func(t *testing.T) {
			l.Client = client
			start := time.Now()
			_, err := l.Locate(t.Context(), toy(refused(t), refused(t), refused(t)))
			wantKind(t, err, ErrUnavailable, "no connection")
			if d := time.Since(start); d > 5*time.Second { // a second, and some for a busy machine
				t.Errorf("took %v", d)
			}
		})
	}
}

// A network that swallows packets costs one connect timeout a host.
func TestSilentNetwork(t *testing.T) {
	var dials atomic.Int32
	l := locator(t)
	l.timing.connect = 20 * time.Millisecond
	l.Client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}}
	_, err := l.Locate(t.Context(), toy("http://one.invalid/a", "http://one.invalid/b", "http://two.invalid/a"))
	wantKind(t, err, ErrUnavailable,
		"http://one.invalid/a: no connection: timed out after 20ms",
		"http://one.invalid/b: no connection to this host (tried for an earlier source)",
		"http://two.invalid/a: no connection: timed out after 20ms")
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections tried, want 2", n)
	}
}

func TestStalledSource(t *testing.T) {
	release := make(chan struct{})
	stall := func(before string) string {
		url, _ := source(t, func(w http.ResponseWriter, _ int) {
			if before != "" {
				w.Header().Set("Content-Length", strconv.Itoa(len(content)))
				fmt.Fprint(w, before)
				w.(http.Flusher).Flush()
			}
			<-release
		})
		return url
	}
	header, body := stall(""), stall(content[:5])
	t.Cleanup(func() { close(release) }) // runs before the servers' Close, which waits
	l := locator(t)
	l.timing.stall = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := l.Locate(ctx, toy(header, body))
	wantKind(t, err, ErrUnavailable,
		header+": nothing received for 200ms",
		body+": after 5 bytes: nothing received for 200ms")
}

// trickle sends a byte every millisecond for as long as it is asked.
func trickle(t *testing.T) string {
	url, _ := source(t, func(w http.ResponseWriter, _ int) {
		for {
			if _, err := fmt.Fprint(w, "x"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	return url
}

// A source that sends a byte now and then never stalls, and would never end.
func TestTricklingSource(t *testing.T) {
	good, _ := source(t, serve(content))
	slow := trickle(t)
	l := locator(t)
	l.timing.window = 200 * time.Millisecond
	path, err := l.Locate(t.Context(), toy(slow, good))
	wantFound(t, path, err, l.toyPath())

	l = locator(t)
	l.timing.window = 200 * time.Millisecond
	_, err = l.Locate(t.Context(), toy(slow))
	wantKind(t, err, ErrUnavailable, slow+": after ", "too slow", "must be at least 1024 per second")
	wantEntries(t, filepath.Join(l.Cache, "set"), 0)
}

func TestDownloadEndsAtTheLimitForAFile(t *testing.T) {
	slow, second := trickle(t), trickle(t)
	l := locator(t)
	l.timing.total = 300 * time.Millisecond
	start := time.Now()
	_, err := l.Locate(t.Context(), toy(slow, second))
	wantKind(t, err, ErrUnavailable, slow+": not finished after 300ms, the time limit")
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
	if strings.Contains(err.Error(), second) {
		t.Errorf("the second source was tried after the limit: %v", err)
	}
}

func TestRedirectsStayWithTheSources(t *testing.T) {
	stranger, strange := source(t, serve(content))
	to := func(url string) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, _ int) {
			w.Header().Set("Location", url)
			w.WriteHeader(http.StatusFound)
		}
	}
	away, _ := source(t, to(stranger))
	l := locator(t)
	_, err := l.Locate(t.Context(), toy(away))
	wantKind(t, err, ErrUnavailable, away+": redirected to", "must be the host of a source")
	if n := strange.Load(); n != 0 {
		t.Errorf("%d requests to a host that nobody listed", n)
	}
	gone, _ := source(t, fail(http.StatusNotFound))
	known, _ := source(t, func(w http.ResponseWriter, n int) { // to itself, then to another source
		to([]string{"/moved", gone, stranger}[min(n, 3)-1])(w, n)
	})
	l = locator(t)
	_, err = l.Locate(t.Context(), toy(known, gone))
	wantKind(t, err, ErrUnavailable, known+": 404 Not Found")
	l = locator(t)
	path, err := l.Locate(t.Context(), toy(away, stranger))
	wantFound(t, path, err, l.toyPath())
	around, n := source(t, to("/again"))
	l = locator(t)
	_, err = l.Locate(t.Context(), toy(around))
	wantKind(t, err, ErrUnavailable, around+": redirected more than 10 times")
	if n.Load() != 11 {
		t.Errorf("%d requests, want 11", n.Load())
	}
	down := &http.Request{URL: &url.URL{Scheme: "http", Host: "one.invalid"}}
	up := []*http.Request{{URL: &url.URL{Scheme: "https", Host: "one.invalid"}}}
	if err := (File{}).checkRedirect(down, up); !errors.Is(err, errRedirect) {
		t.Errorf("from https to http: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop := make(chan struct{})
	url, requests := source(t, func(w http.ResponseWriter, _ int) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "some")
		w.(http.Flusher).Flush()
		cancel()
		<-stop
	})
	mirror, n2 := source(t, serve(content))
	t.Cleanup(func() { close(stop) })
	l := locator(t)
	_, err := l.Locate(ctx, toy(url, mirror))
	wantKind(t, err, context.Canceled, "set/toy")
	if requests.Load() != 1 || n2.Load() != 0 {
		t.Errorf("%d and %d requests, want 1 and 0", requests.Load(), n2.Load())
	}
	wantEntries(t, filepath.Join(l.Cache, "set"), 0)

	// Between two tries, too.
	ctx, cancel = context.WithCancel(t.Context())
	l.timing.pause = time.Minute
	url, _ = source(t, func(w http.ResponseWriter, n int) {
		fail(http.StatusInternalServerError)(w, n)
		time.AfterFunc(10*time.Millisecond, cancel)
	})
	_, err = l.Locate(ctx, toy(url))
	wantKind(t, err, context.Canceled, "set/toy")
}

func TestDamagedCacheIsReplaced(t *testing.T) {
	url, requests := source(t, serve(content))
	l := locator(t)
	var log bytes.Buffer
	l.Progress = &log
	plant(t, l.Cache, "set/toy", content[:7])
	path, err := l.Locate(t.Context(), toy(url))
	wantFound(t, path, err, l.toyPath())
	if requests.Load() != 1 {
		t.Errorf("%d requests, want 1", requests.Load())
	}
	for _, part := range []string{"is damaged (SHA-256 is " + sum(content[:7]), "set/toy: 12 bytes from " + url} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("progress does not mention %q: %s", part, log.String())
		}
	}
}

// A file for which there is too little memory is not damaged: it is not fetched anew, no other
// source is asked, and nobody is told to remove it.
func TestTooLittleMemoryIsNoDamage(t *testing.T) {
	url, requests := source(t, serve(content))
	other, more := source(t, serve(content))
	l, f := locator(t), toy(url, other)
	f.Check = func(path string) error { return fmt.Errorf("toy: %s: %w", path, memory.ErrTooLittle) }
	check := func(where string, err error) {
		t.Helper()
		if !errors.Is(err, memory.ErrTooLittle) {
			t.Errorf("%s: error %v, want %v", where, err, memory.ErrTooLittle)
		}
		wantKind(t, err, memory.ErrTooLittle)
	}
	_, err := l.Locate(t.Context(), f)
	check("download", err)
	if requests.Load() != 1 || more.Load() != 0 {
		t.Errorf("%d and %d requests, want 1 and none", requests.Load(), more.Load())
	}
	planted := plant(t, l.Cache, "set/toy", content)
	_, err = l.Locate(t.Context(), f)
	check("cache", err)
	if got, err := os.ReadFile(planted); err != nil || string(got) != content || requests.Load() != 1 {
		t.Errorf("the cache holds %q after %d requests, want what it had after 1: %v", got, requests.Load(), err)
	}
	_, err = Locator{Dir: l.Cache}.Locate(t.Context(), f)
	check("folder", err)
}

func TestDamagedCacheCannotBeReplaced(t *testing.T) {
	gone, _ := source(t, fail(http.StatusNotFound))
	l := locator(t)
	planted := plant(t, l.Cache, "set/toy", "bad")
	_, err := l.Locate(t.Context(), toy(gone))
	wantKind(t, err, ErrDamaged, l.toyPath(), sum("bad"), gone+": 404 Not Found")
	if got, _ := os.ReadFile(planted); string(got) != "bad" {
		t.Errorf("the damaged file was changed to %q", got)
	}
	l.Offline = true
	_, err = l.Locate(t.Context(), toy(gone))
	wantKind(t, err, ErrDamaged, l.toyPath(), "offline")
}

func TestCacheThatCannotBeWritten(t *testing.T) {
	url, requests := source(t, serve(content))
	file := plant(t, t.TempDir(), "file", "not a folder")
	l := locator(t)
	l.Cache = file
	_, err := l.Locate(t.Context(), toy(url))
	wantKind(t, err, ErrUnavailable, "cache folder", file)
	if requests.Load() != 0 {
		t.Error("downloaded without a place to put it")
	}

	l = locator(t) // a folder where the file should go
	plant(t, l.Cache, "set/toy/inside", "")
	_, err = l.Locate(t.Context(), toy(url))
	wantKind(t, err, ErrDamaged, l.toyPath())
}

func TestExplicitFolder(t *testing.T) {
	url, requests := source(t, serve(content))
	l := locator(t)
	l.Dir = t.TempDir()
	plant(t, l.Cache, "set/toy", content) // not to be looked at

	_, err := l.Locate(t.Context(), toy(url))
	wantKind(t, err, ErrMissing, filepath.Join(l.Dir, "set", "toy"))

	planted := plant(t, l.Dir, "set/toy", "bad")
	_, err = l.Locate(t.Context(), toy(url))
	wantKind(t, err, ErrDamaged, planted, sum("bad"), sum(content))

	plant(t, l.Dir, "set/toy", content)
	path, err := l.Locate(t.Context(), toy(url))
	wantFound(t, path, err, planted)
	if requests.Load() != 0 {
		t.Error("a request was made although a folder was named")
	}
}

// A file that is larger than it may be, or has no end, is damaged.
func TestFilesAreReadToTheirBound(t *testing.T) {
	l := locator(t)
	l.Dir = t.TempDir()
	path := plant(t, l.Dir, "set/toy", content)
	small := toy()
	small.MaxBytes = int64(len(content)) - 1
	_, err := l.Locate(t.Context(), small)
	wantKind(t, err, ErrDamaged, path)
	small.MaxBytes++
	if _, err := l.Locate(t.Context(), small); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	_, err = l.Locate(t.Context(), small)
	wantKind(t, err, ErrDamaged, path)
}

func TestOtherPlaces(t *testing.T) {
	url, requests := source(t, serve(content))
	f := toy(url)
	f.Also = []string{"set/other/toy", "set/toy.old"}
	l := locator(t)
	old := plant(t, l.Cache, "set/toy.old", content)
	path, err := l.Locate(t.Context(), f)
	if err != nil || path != old {
		t.Errorf("found %s, %v, want %s", path, err, old)
	}
	other := plant(t, l.Cache, "set/other/toy", "bad") // it comes first
	l.Offline = true
	_, err = l.Locate(t.Context(), f)
	wantKind(t, err, ErrDamaged, other, "offline")
	l.Offline = false
	if path, err = l.Locate(t.Context(), f); err != nil || path != l.toyPath() || requests.Load() != 1 {
		t.Errorf("found %s, %v, after %d requests, want a download to %s", path, err, requests.Load(), l.toyPath())
	}

	l.Dir = t.TempDir()
	_, err = l.Locate(t.Context(), f)
	wantKind(t, err, ErrMissing, filepath.Join(l.Dir, "set", "toy"), `neither is any of ["set/other/toy" "set/toy.old"]`)
	other = plant(t, l.Dir, "set/other/toy", content)
	if path, err = l.Locate(t.Context(), f); err != nil || path != other {
		t.Errorf("found %s, %v, want %s", path, err, other)
	}
}

func TestCheck(t *testing.T) {
	refusal := errors.New("two rows expected")
	check := func(path string) error {
		if text, err := os.ReadFile(path); err != nil || string(text) != content {
			return errors.Join(refusal, err)
		}
		return nil
	}
	bad, _ := source(t, serve("1 1:1\n"))
	good, _ := source(t, serve(content))
	l := locator(t)
	_, err := l.Locate(t.Context(), File{Rel: "set/toy", Sources: []string{bad}, Check: check})
	wantKind(t, err, ErrUnavailable, refusal.Error())
	if !errors.Is(err, refusal) {
		t.Errorf("the check's error is lost: %v", err)
	}
	path, err := l.Locate(t.Context(), File{Rel: "set/toy", Sources: []string{bad, good}, Check: check})
	wantFound(t, path, err, l.toyPath())
}

func TestDefaultCache(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	planted := plant(t, filepath.Join(base, "proactivedp"), "set/toy", content)
	path, err := Locator{}.Locate(t.Context(), toy())
	wantFound(t, path, err, planted)

	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	_, err = Locator{}.Locate(t.Context(), toy())
	wantKind(t, err, ErrUnavailable, "no cache folder")
}

func TestMalformedFile(t *testing.T) {
	for _, f := range []File{
		{Rel: ""}, {Rel: "."}, {Rel: "/etc/passwd"}, {Rel: "../toy"}, {Rel: "a/../../b"},
		{Rel: "toy", SHA256: "abc"}, {Rel: "toy", SHA256: strings.Repeat("g", 64)}, {Rel: "toy", SHA256: "abcd"},
		{Rel: "toy", MaxBytes: -1}, {Rel: "toy", Also: []string{"../toy"}},
	} {
		l := locator(t)
		_, err := l.Locate(t.Context(), f)
		wantKind(t, err, nil)
	}
	l := locator(t)
	for _, source := range []string{"http://\x7f", "ftp://127.0.0.1/toy", "toy", "http://%zz/"} {
		_, err := l.Locate(t.Context(), toy(source))
		wantKind(t, err, ErrUnavailable)
	}
}

// A log is told how far a download is, if the source says how long the file is.
func TestProgressInALog(t *testing.T) {
	unsized, _ := source(t, func(w http.ResponseWriter, _ int) {
		w.(http.Flusher).Flush()
		fmt.Fprint(w, content)
	})
	sized, _ := source(t, serve(content))
	empty, _ := source(t, serve(""))
	for url, lines := range map[string]int{sized: 2, unsized: 1} {
		var log bytes.Buffer
		l := locator(t)
		l.Progress = &log
		path, err := l.Locate(t.Context(), toy(empty, url))
		wantFound(t, path, err, l.toyPath())
		if got := strings.Count(log.String(), "\n"); got != lines ||
			strings.Contains(log.String(), "100 %") != (lines == 2) {
			t.Errorf("the log is %q", &log)
		}
	}
}
