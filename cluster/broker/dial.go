package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// Peer describes this process as one side of a connection to a broker: its name, its credentials, and the functions
// to call when the connection is lost or returns.
type Peer struct {
	Name  string       // name by which the broker lists the connection
	Creds *Credentials // credentials of the user, see ReadCredentials; nil means none
	// Inbox is the beginning of the NATS subjects (names of messages) under which answers to this process arrive.
	// Choose one that no other user may subscribe to; others could read the answers.
	Inbox string
	// Reconnected, unless it is nil, is called from a goroutine of the connection each time the
	// connection returns after a loss.
	Reconnected func()
	// Unreachable, unless it is nil, is called with the reason when the broker cannot be reached: at most
	// three seconds after Dial begins, when the connection is lost, and later if the reason has changed.
	// The calls come from several goroutines, but one at a time.
	Unreachable func(error)
}

// ErrUnusable is wrapped by the error for a broker that cannot be used, so that waiting is useless: the broker
// refuses the user, its certificate is not trusted, or it lacks a needed feature.
var ErrUnusable = errors.New("cannot be used")

// Dial connects to the broker at url. If the broker does not answer yet, Dial waits for it until ctx is cancelled;
// then the error wraps context.Cause(ctx). If waiting cannot help, the error wraps [ErrUnusable]. A connection that
// is lost later is restored automatically; while it is lost, publishing returns an error.
func Dial(ctx context.Context, url string, p Peer) (*nats.Conn, error) {
	if err := CheckURL(url); err != nil {
		return nil, err
	}
	options := p.options()
	if p.Creds != nil {
		secure, err := p.Creds.options(strings.Contains(url, "tls://"))
		if err != nil {
			return nil, err
		}
		options = append(options, secure...)
	}
	return dial(ctx, url, p, options)
}

// LogUnreachable returns a function to set as [Peer].Unreachable. It writes to log why the broker cannot be reached.
func LogUnreachable(log *slog.Logger) func(error) {
	return func(err error) { log.Warn("the broker cannot be reached", "error", err) }
}

// CheckConn returns an error if the connection c is closed for good, or if its broker does not accept messages of the
// length need, in bytes. Call it from time to time: the limit can change if the broker gets a new configuration or is
// replaced.
func CheckConn(c *nats.Conn, need int64) error {
	if c.IsClosed() {
		return fmt.Errorf("the broker has ended the connection: %w", c.LastError())
	}
	if c.MaxPayload() < need {
		return fmt.Errorf("the broker at %s takes messages of at most %d bytes, must be at least %d: raise max_payload in "+
			"its configuration", c.ConnectedUrlRedacted(), c.MaxPayload(), need)
	}
	return nil
}

// UntilRefused returns a context to use for requests over the connection c. Use it because a broker sends no answer
// to a request that the connection's user may not make, so that the request would wait until its timeout. The
// returned context is cancelled when the broker reports such a request, and its cause says what was refused. Call the
// CancelFunc when the requests are done.
func UntilRefused(ctx context.Context, c *nats.Conn) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	before := c.LastError() // stays until the connection returns after a loss
	go func() {
		tick := time.NewTicker(reconnectWait)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := c.LastError(); err != before && errors.Is(err, nats.ErrPermissionViolation) {
				cancel(fmt.Errorf("the broker at %s: %w: %w: its configuration must allow this, as the nats.conf that proactivedp "+
					"keys writes does", c.ConnectedUrlRedacted(), ErrUnusable, err))
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Refused examines the error err of a request to JetStream (the part of NATS that stores messages). If it is useless
// to repeat the request, because the broker forbids it or the user's account has no JetStream, Refused returns an
// error that wraps [ErrUnusable]. Otherwise it returns nil: the caller may repeat the request. ctx is the context of
// the request, from [UntilRefused].
func Refused(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrUnusable) {
		return cause
	}
	if errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fmt.Errorf("the broker: %w: the account of this user has no JetStream: give it \"jetstream: enabled\" in the "+
			"configuration of nats-server", ErrUnusable)
	}
	return nil
}

// These are the timeouts of a connection.
const (
	reconnectWait = 100 * time.Millisecond
	dialTimeout   = 5 * time.Second
	pingInterval  = 5 * time.Second
	// quiet is the time after which an attempt without an answer is reported. It is less than
	// dialTimeout, which must allow for slow networks.
	quiet = 2 * time.Second
)

func (p Peer) options() []nats.Option {
	return []nats.Option{
		nats.Name(p.Name), nats.CustomInboxPrefix(p.Inbox), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1), nats.SkipHostLookup(), // the dialer looks names up, and can be interrupted
		nats.Timeout(dialTimeout), nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2),
		nats.ReconnectHandler(func(*nats.Conn) {
			if p.Reconnected != nil {
				p.Reconnected()
			}
		}),
		// A refused operation returns an error to its caller, so it is not logged here.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

// teller calls Peer.Unreachable, but not again with the same reason, and not often.
type teller struct {
	url  string
	tell func(error) // may be nil

	mu   sync.Mutex
	why  error // the reason that was told; nil if none was
	when time.Time
}

// tellAgain is the shortest time between two reasons. Some reasons differ in each attempt, because they
// name a port of this machine.
const tellAgain = 5 * time.Second

func (t *teller) unreachable(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why != nil && (t.why.Error() == why.Error() || time.Since(t.when) < tellAgain) {
		return
	}
	t.why, t.when = why, time.Now()
	if t.tell != nil {
		t.tell(fmt.Errorf("%s: %w", t.url, why))
	}
}

// last returns the reason that was told last, or nil.
func (t *teller) last() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.why
}

// options returns options that tell about a connection that is lost.
func (t *teller) options(d *dialer) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err == nil { // this process closes the connection
				return
			}
			t.mu.Lock()
			t.why = nil // it was connected
			t.mu.Unlock()
			t.unreachable(fmt.Errorf("the connection is lost: %w", err))
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { t.unreachable(d.reason(err)) }),
	}
}

// dial connects to a broker and checks that it has JetStream.
func dial(ctx context.Context, url string, p Peer, options []nats.Option) (*nats.Conn, error) {
	c, err := connect(ctx, url, p, options)
	if err != nil {
		return nil, err
	}
	if err := checkJetStream(ctx, c); err != nil {
		c.Close()
		return nil, fmt.Errorf("the broker at %s: %w", url, err)
	}
	return c, nil
}

// errNoAnswer reports an attempt that takes longer than quiet.
var errNoAnswer = errors.New("no answer yet")

// connect tries to connect until it succeeds, waiting does not help, or the context ends.
func connect(ctx context.Context, url string, p Peer, options []nats.Option) (*nats.Conn, error) {
	dialer, t := &dialer{ctx: ctx}, &teller{url: url, tell: p.Unreachable}
	options = append(append(options, nats.SetCustomDialer(dialer)), t.options(dialer)...)
	for {
		c, err := attempt(url, options, t.unreachable)
		if err == nil {
			dialer.release()
			return c, nil
		}
		if ctx.Err() == nil {
			if err = dialer.reason(err); final(err) {
				return nil, fmt.Errorf("the broker at %s: %w: %w", url, ErrUnusable, explained(url, err))
			}
			t.unreachable(err)
		}
		select {
		case <-time.After(reconnectWait):
		case <-ctx.Done():
			why := t.last()
			if why == nil {
				return nil, fmt.Errorf("the broker at %s: %w", url, context.Cause(ctx))
			}
			return nil, fmt.Errorf("the broker at %s cannot be reached: %w (%w)", url, why, context.Cause(ctx))
		}
	}
}

// attempt tries once to connect. If there is no answer for a while, it reports that and keeps waiting.
func attempt(url string, options []nats.Option, tell func(error)) (*nats.Conn, error) {
	type outcome struct {
		c   *nats.Conn
		err error
	}
	done := make(chan outcome, 1)
	go func() { // ends at dialTimeout for each address, or with the context, see dialer
		c, err := nats.Connect(url, options...)
		done <- outcome{c, err}
	}()
	late := time.NewTimer(quiet)
	defer late.Stop()
	for {
		select {
		case o := <-done:
			return o.c, o.err
		case <-late.C:
			tell(errNoAnswer)
		}
	}
}

// dialer makes the TCP connections. Until release is called, the end of the context closes them, so
// that an attempt to connect ends at once.
type dialer struct {
	ctx context.Context

	mu       sync.Mutex
	released bool
	undo     []func() bool // stops the closing
	last     error         // of the last connection that failed
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.ctx
	if d.released {
		ctx = context.Background()
	}
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = err
	if err == nil && !d.released {
		d.undo = append(d.undo, context.AfterFunc(d.ctx, func() { _ = c.Close() }))
	}
	return c, err
}

// release makes the connections independent of the context.
func (d *dialer) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.released = true
	for _, stop := range d.undo {
		stop()
	}
	d.undo = nil
}

// reason returns why an attempt failed. The library replaces a refused connection by an error
// that does not say so.
func (d *dialer) reason(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, stop := range d.undo { // the attempt has closed these connections
		stop()
	}
	d.undo = nil
	if errors.Is(err, nats.ErrNoServers) && d.last != nil {
		return d.last
	}
	return err
}

// final reports whether err will not change while the broker stays as it is.
func final(err error) bool {
	for _, one := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked,
		nats.ErrAccountAuthExpired, nats.ErrNkeysNotSupported, nats.ErrSecureConnWanted, nats.ErrSecureConnRequired,
		nats.ErrNoInfoReceived} {
		if errors.Is(err, one) {
			return true
		}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && strings.HasSuffix(op.Op, " error") {
		return true // crypto/tls calls an alert "local error" or "remote error", as for another version of TLS
	}
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok
}

// explained adds to an error of a broker at url what the user can do.
func explained(url string, err error) error {
	var advice string
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		advice = "give the credentials of a user that it knows (--creds)"
	case errors.Is(err, nats.ErrNkeysNotSupported):
		advice = "it knows no credentials; leave --creds out, or configure its users"
	case errors.Is(err, nats.ErrSecureConnWanted):
		advice = "it has no TLS; configure its certificate, or use nats:// on this machine"
	case errors.Is(err, nats.ErrNoInfoReceived):
		return errors.New("what answers there is not a NATS broker")
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		advice = "give the credentials that were made together with its certificate (--creds)"
		if !strings.Contains(url, "tls://") {
			advice = "it has TLS: use tls://HOST:PORT, and " + advice
		}
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		advice = "use a name that its keys were made for (proactivedp keys --host)"
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, advice)
}

// ErrNoJetStream is the error for a broker without JetStream, the part of NATS that stores messages.
var ErrNoJetStream = errors.New("it has no JetStream: start nats-server with --jetstream")

// askJetStream is how long a broker may take to say whether it can reach JetStream.
const askJetStream = time.Second

// checkJetStream returns an error if the broker has no JetStream. A broker that keeps no streams
// itself may reach others that do, so it is asked.
func checkJetStream(ctx context.Context, c *nats.Conn) error {
	if has, _ := c.ConnectedServerJetStream(); has {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askJetStream)
	defer cancel()
	js, err := jetstream.New(c)
	if err != nil {
		return err
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnusable, ErrNoJetStream)
	}
	return nil
}

// options returns the options for a connection with these credentials. Without TLS, as on loopback,
// only the key is used.
func (c *Credentials) options(secure bool) ([]nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(c.Seed))
	if err != nil {
		return nil, fmt.Errorf("credentials: seed: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	options := []nats.Option{nats.Nkey(public, pair.Sign)}
	if secure {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errors.New("credentials: ca is not a certificate")
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}))
	}
	return options, nil
}
