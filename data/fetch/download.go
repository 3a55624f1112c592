package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"proactivedp/internal/files"
	"proactivedp/internal/memory"
	"proactivedp/internal/report"
)

const (
	maxTries  = 3 // number of attempts per source
	userAgent = "proactivedp (data set download)"
)

// errNoConnection marks failures before there is a connection: the host's name is not found, or the connection is
// refused or times out. They are not retried: on a machine without a network each would cost up to timing.connect.
var errNoConnection = errors.New("no connection")

// download gets f from the first source that has it and writes it to path. The error joins one
// error for each source.
func (l Locator) download(ctx context.Context, f File, path string) error {
	switch {
	case l.Offline:
		return errors.New("\toffline: downloads are not allowed")
	case len(f.Sources) == 0:
		return errors.New("\tno download source is known")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("\tcache folder: %w", err)
	}
	l.timing = l.timing.orDefault()
	limited, cancel := context.WithTimeoutCause(ctx, l.timing.total,
		fmt.Errorf("not finished after %v, the time limit for a file", l.timing.total))
	defer cancel()
	var failures []error
	unreachable := map[string]bool{} // hosts to which no connection was possible
	for _, source := range f.Sources {
		err := l.fromSource(limited, f, source, path, unreachable)
		if err == nil || ctx.Err() != nil || errors.Is(err, memory.ErrTooLittle) {
			return err
		}
		failures = append(failures, fmt.Errorf("\t%s: %w", source, err))
		if limited.Err() != nil {
			break
		}
	}
	return errors.Join(failures...)
}

// fromSource gets f from one source and retries after transient failures.
func (l Locator) fromSource(ctx context.Context, f File, source, path string, unreachable map[string]bool) error {
	address, err := url.Parse(source)
	if err != nil {
		return err
	}
	if unreachable[address.Host] {
		return fmt.Errorf("%w to this host (tried for an earlier source)", errNoConnection)
	}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier = l.timing.pause, 2
	n, err := backoff.Retry(ctx,
		func() (int64, error) { return l.attempt(ctx, f, source, path) },
		backoff.WithBackOff(pauses), backoff.WithMaxTries(maxTries))
	if err != nil {
		unreachable[address.Host] = errors.Is(err, errNoConnection)
		return err
	}
	l.say("fetch: %s: %d bytes from %s", f.Rel, n, source)
	return nil
}

// attempt makes one request and, if the body verifies, writes it to path. It returns the size.
// Errors that a retry cannot fix are marked as permanent.
func (l Locator) attempt(ctx context.Context, f File, source, path string) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := watch(cancel, l.timing)
	defer dog.timer.Stop()
	// cause replaces an error that a done context causes with the reason why the context is done.
	cause := func(err error) error {
		if c := context.Cause(ctx); c != nil {
			return c
		}
		return err
	}

	request, err := http.NewRequestWithContext(dog.trace(ctx), http.MethodGet, source, nil)
	if err != nil {
		return 0, backoff.Permanent(err)
	}
	request.Header.Set("User-Agent", userAgent)
	// Request the file's own bytes with their length, so that a truncated body is detected.
	request.Header.Set("Accept-Encoding", "identity")
	client := http.Client{}
	if l.Client != nil {
		client = *l.Client
	}
	client.CheckRedirect = f.checkRedirect
	response, err := client.Do(request)
	if errors.Is(err, errRedirect) {
		return 0, backoff.Permanent(errors.Unwrap(err)) // the caller names the URL as the source
	}
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the caller names the URL as the source
		}
		if err = cause(err); !dog.connected.Load() {
			return 0, backoff.Permanent(fmt.Errorf("%w: %w", errNoConnection, err))
		}
		return 0, err
	}
	defer response.Body.Close()
	dog.life()
	if err := statusError(response); err != nil {
		return 0, err
	}

	limit := f.most()
	if n := response.ContentLength; n > limit {
		return 0, backoff.Permanent(fmt.Errorf("%d bytes, must be at most %d", n, limit))
	}
	temp, err := files.Create(path)
	if err != nil {
		return 0, backoff.Permanent(err)
	}
	defer temp.Discard()
	bar := report.NewByteBar(l.Progress, f.Rel, response.ContentLength)
	n, err := io.Copy(temp, io.LimitReader(&observed{response.Body, dog, bar}, limit+1))
	bar.Clear()
	if err != nil {
		if _, local := errors.AsType[*fs.PathError](err); local {
			return 0, backoff.Permanent(err)
		}
		err = fmt.Errorf("after %d bytes: %w", n, cause(err))
		if errors.Is(err, errTooSlow) {
			return 0, backoff.Permanent(err)
		}
		return 0, err
	}
	if n > limit {
		return 0, backoff.Permanent(fmt.Errorf("more bytes than the limit of %d", limit))
	}
	if err := f.verify(temp.Name()); err != nil {
		return 0, backoff.Permanent(fmt.Errorf("received %d bytes: %w", n, err))
	}
	if err := temp.Commit(); err != nil {
		return 0, backoff.Permanent(err)
	}
	return n, nil
}

var errRedirect = errors.New("redirected")

// maxRedirects is the largest number of redirects that a request follows.
const maxRedirects = 10

// checkRedirect allows redirects to the same host and to the hosts of f's sources, but never from
// https to http.
func (f File) checkRedirect(next *http.Request, via []*http.Request) error {
	before := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w more than %d times", errRedirect, maxRedirects)
	case before.Scheme == "https" && next.URL.Scheme != "https":
		return fmt.Errorf("%w from https to %s", errRedirect, next.URL.Scheme)
	case next.URL.Host == via[0].URL.Host:
		return nil
	}
	for _, source := range f.Sources {
		if u, err := url.Parse(source); err == nil && u.Host == next.URL.Host {
			return nil
		}
	}
	return fmt.Errorf("%w to %q, must be the host of a source", errRedirect, next.URL.Host)
}

// statusError returns nil for 200 OK, and a permanent error for a status that
// will not change soon.
func statusError(r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	err := errors.New(r.Status)
	switch {
	case r.StatusCode >= 500, r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusRequestTimeout:
		return err
	}
	return backoff.Permanent(err)
}

// errTooSlow marks sources that send too slowly.
var errTooSlow = errors.New("too slow")

// watchdog cancels a request that receives nothing, or too little.
type watchdog struct {
	timer         *time.Timer
	stall, window time.Duration
	connected     atomic.Bool

	began    time.Time // start of the current window; only the reading goroutine uses it
	received int       // bytes in this window
}

func watch(cancel context.CancelCauseFunc, t timing) *watchdog {
	d := &watchdog{stall: t.stall, window: t.window}
	d.timer = time.AfterFunc(t.connect, func() {
		if d.connected.Load() {
			cancel(fmt.Errorf("nothing received for %v", t.stall))
		} else {
			cancel(fmt.Errorf("timed out after %v", t.connect))
		}
	})
	return d
}

// trace returns a context whose request notifies d of its connection.
func (d *watchdog) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { d.life() },
	})
}

func (d *watchdog) life() {
	d.connected.Store(true)
	d.timer.Reset(d.stall)
}

// rate counts n bytes and returns an error if they arrive too slowly. The timer detects that none
// arrive.
func (d *watchdog) rate(n int) error {
	now := time.Now()
	if d.began.IsZero() {
		d.began = now
	}
	d.received += n
	took := now.Sub(d.began)
	if took < d.window {
		return nil
	}
	if float64(d.received) < leastRate*took.Seconds() {
		return fmt.Errorf("%w: %d bytes in %v, must be at least %d per second", errTooSlow, d.received,
			took.Round(time.Millisecond), leastRate)
	}
	d.began, d.received = now, 0
	return nil
}

// observed is a body that reports what is read from it to the watchdog and the progress bar.
type observed struct {
	io.Reader
	dog *watchdog
	bar *report.Bar
}

func (o *observed) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	if n > 0 {
		o.dog.life()
		if slow := o.dog.rate(n); slow != nil {
			return n, slow
		}
		o.bar.Add(int64(n))
	}
	return n, err
}
