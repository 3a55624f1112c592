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
	maxTries  = 3 // how often one source is asked
	userAgent = "proactivedp (data set download)"
)

// errNoConnection marks failures before a connection stood (name not found,
// refused, timed out). They are not retried: on a machine without a network
// each costs at most timing.connect, and usually nothing.
var errNoConnection = errors.New("no connection")

// download gets f from the first source that has it and puts it at path. The
// error joins one error a source.
func (l Locator) download(ctx context.Context, f File, path string) error {
	switch {
	case l.Offline:
		return errors.New("\toffline: no download was tried")
	case len(f.Sources) == 0:
		return errors.New("\tno source is known")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("\tcache folder: %w", err)
	}
	l.timing = l.timing.orDefault()
	limited, cancel := context.WithTimeoutCause(ctx, l.timing.total,
		fmt.Errorf("not done after %v, which is the limit for a file", l.timing.total))
	defer cancel()
	var failures []error
	unreachable := map[string]bool{} // which hosts could not be connected to
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

// fromSource gets f from one source, trying again after transient failures.
func (l Locator) fromSource(ctx context.Context, f File, source, path string, unreachable map[string]bool) error {
	address, err := url.Parse(source)
	if err != nil {
		return err
	}
	if unreachable[address.Host] {
		return fmt.Errorf("%w to this host for an earlier source", errNoConnection)
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

// attempt makes one request and, if the body verifies, puts it at path. It
// returns the size. Errors that a retry cannot mend are marked permanent.
func (l Locator) attempt(ctx context.Context, f File, source, path string) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := watch(cancel, l.timing)
	defer dog.timer.Stop()
	// cause replaces the error that a done context makes by the reason why the
	// context is done.
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
	// The file's own bytes, with their length, so that a cut shows.
	request.Header.Set("Accept-Encoding", "identity")
	client := http.Client{}
	if l.Client != nil {
		client = *l.Client
	}
	client.CheckRedirect = f.checkRedirect
	response, err := client.Do(request)
	if errors.Is(err, errRedirect) {
		return 0, backoff.Permanent(errors.Unwrap(err)) // the URL is named with the source
	}
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the message names the source, and so the URL, already
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
		return 0, backoff.Permanent(fmt.Errorf("%d bytes, more than the limit of %d", n, limit))
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
		return 0, backoff.Permanent(fmt.Errorf("more than the limit of %d bytes", limit))
	}
	if err := f.verify(temp.Name()); err != nil {
		return 0, backoff.Permanent(fmt.Errorf("%d bytes were sent but: %w", n, err))
	}
	if err := temp.Commit(); err != nil {
		return 0, backoff.Permanent(err)
	}
	return n, nil
}

// errRedirect marks redirects that are not followed.
var errRedirect = errors.New("redirected")

// maxRedirects is how many redirects of a request are followed.
const maxRedirects = 10

// checkRedirect lets a request go on to the host that it was made to and to those
// of f's sources, never from https to http.
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
	return fmt.Errorf("%w to %q, which is the host of no source", errRedirect, next.URL.Host)
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

// errTooSlow marks sources whose bytes come too slowly.
var errTooSlow = errors.New("too slow")

// watchdog ends a request that shows no life, or too little.
type watchdog struct {
	timer         *time.Timer
	stall, window time.Duration
	connected     atomic.Bool

	began    time.Time // of the window under way; of the reading goroutine alone
	received int       // in it
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

// trace returns a context whose request tells d of its connection.
func (d *watchdog) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { d.life() },
	})
}

func (d *watchdog) life() {
	d.connected.Store(true)
	d.timer.Reset(d.stall)
}

// rate counts n bytes, and reports that they come too slowly. That none come is
// for the timer to see.
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
		return fmt.Errorf("%w: %d bytes in %v, must be at least %d a second", errTooSlow, d.received,
			took.Round(time.Millisecond), leastRate)
	}
	d.began, d.received = now, 0
	return nil
}

// observed is a body that tells the watchdog and the bar of what is read from it.
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
