// Package broker connects processes through NATS JetStream: by a broker that is part of
// this program, which an Engine starts, or by one that runs elsewhere. Nothing in it knows
// what the messages are about.
//
// A broker listens beyond loopback only with TLS and with credentials for everybody, see
// Keyring. The build tag nobroker leaves the broker out of the program: then it can
// only connect.
package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Engine says which broker processes meet at.
type Engine struct {
	// URL is a broker that runs elsewhere, such as nats://host:4222; "": one is started,
	// as the other fields say.
	URL string
	// Listen is where the started broker listens, as HOST:PORT; port 0 is any that is
	// free. "": nowhere, it is for this process alone.
	Listen   string
	StoreDir string // the folder of its streams, made if it is not there
	// Sync is how long messages may be acknowledged before they are on disk; 0: not at
	// all, each is on disk first.
	Sync time.Duration
	Key  []byte // its files are encrypted under it; nil: they are not
	// Keyring is the credentials by which it knows its users, and its TLS certificate; nil:
	// whoever reaches it may do all, which is allowed on loopback alone.
	Keyring *Keyring
	// Allow returns what a user of the keyring may do.
	Allow func(User) Permissions
	// Log is shown what the broker has to say; nil: nothing is.
	Log func(level, text string)
}

// Permissions lists the subjects, with wildcards, that a user may publish under and
// subscribe to.
type Permissions struct{ Publish, Subscribe []string }

// Validate reports every field outside its range.
func (e Engine) Validate() error {
	var errs []error
	if e.URL != "" {
		if e.Listen != "" {
			errs = append(errs, fmt.Errorf("listen = %q beside the broker %s, one of both must be left out",
				e.Listen, e.URL))
		}
		return errors.Join(append(errs, CheckURL(e.URL))...)
	}
	if e.StoreDir == "" {
		errs = append(errs, errors.New(`store = "", must name a folder`))
	}
	if e.Sync < 0 || e.Sync > 24*time.Hour {
		errs = append(errs, fmt.Errorf("sync = %v, must be in [0, 24h]", e.Sync))
	}
	if len(e.Key) > 0 && len(e.Key) < MinKey {
		errs = append(errs, fmt.Errorf("a key of %d bytes, must have at least %d", len(e.Key), MinKey))
	}
	if e.Listen != "" {
		errs = append(errs, e.checkListen())
	}
	return errors.Join(errs...)
}

// Replicas is how many copies a stream has: three where the URL names three brokers or more,
// which are a cluster then, else one.
func (e Engine) Replicas() int {
	if strings.Count(e.URL, ",") >= 2 {
		return 3
	}
	return 1
}

// MinKey is the length of the shortest key, in bytes.
const MinKey = 16

// checkListen reports why the broker must not listen there.
func (e Engine) checkListen() error {
	host, port, err := net.SplitHostPort(e.Listen)
	if err != nil {
		return fmt.Errorf("listen = %q, must be HOST:PORT", e.Listen)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("listen = %q: the port must be in [0, 65535]", e.Listen)
	}
	if e.Keyring == nil && !loopback(host) {
		return fmt.Errorf("listen = %q is beyond this machine, which takes TLS and credentials: make them "+
			"with proactivedp keys and give --keys, or listen on 127.0.0.1", e.Listen)
	}
	return nil
}

// loopback reports whether a host is this machine for itself alone. A name other than
// localhost is not: what it means is decided elsewhere.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// CheckURL reports a URL that is not one of a broker.
func CheckURL(url string) error {
	for one := range strings.SplitSeq(url, ",") {
		scheme, rest, found := strings.Cut(one, "://")
		host, port, err := net.SplitHostPort(rest)
		if !found || scheme != "nats" && scheme != "tls" || err != nil || host == "" || strings.Contains(host, "@") {
			return fmt.Errorf("URL = %q, must be nats://HOST:PORT or tls://HOST:PORT, or several with commas",
				url)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("URL = %q: the port is %q, must be a number in [1, 65535]", url, port)
		}
		if scheme == "nats" && !loopback(host) {
			return fmt.Errorf("URL = %q: beyond this machine it must be tls://HOST:PORT", url)
		}
	}
	return nil
}

// Peer says who connects, and how.
type Peer struct {
	Name  string       // what the broker's lists call the connection
	Creds *Credentials // nil: none
	// Inbox is the first part of the subjects under which answers come: others must not
	// be allowed to listen there.
	Inbox string
	// Reconnected is called, from a goroutine of the connection's, whenever it has been
	// lost and is there again; nil: nothing is.
	Reconnected func()
}

// Dial connects to a broker, and waits for one that is not up yet until the context
// ends. A connection that is lost comes back by itself; what is published meanwhile is
// an error.
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
	return dial(ctx, url, options)
}

// The pauses and patience of a connection.
const (
	reconnectWait = 100 * time.Millisecond
	dialTimeout   = 5 * time.Second
	pingInterval  = 5 * time.Second
)

func (p Peer) options() []nats.Option {
	return []nats.Option{
		nats.Name(p.Name), nats.CustomInboxPrefix(p.Inbox), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1),
		nats.Timeout(dialTimeout), nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2),
		nats.ReconnectHandler(func(*nats.Conn) {
			if p.Reconnected != nil {
				p.Reconnected()
			}
		}),
		// What is refused is seen where it is asked for.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

func dial(ctx context.Context, url string, options []nats.Option) (*nats.Conn, error) {
	c, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !c.IsConnected() {
		if err := c.LastError(); c.IsClosed() || errors.Is(err, nats.ErrAuthorization) || untrusted(err) {
			c.Close()
			return nil, fmt.Errorf("%s: refused: %w", url, err)
		}
		select {
		case <-ctx.Done():
			err := c.LastError()
			c.Close()
			return nil, errors.Join(fmt.Errorf("%s: %w", url, context.Cause(ctx)), err)
		case <-tick.C:
		}
	}
	return c, nil
}

// untrusted reports an error of a certificate, which waiting does not mend.
func untrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// options are those by which a connection is of these credentials. Without TLS, as on
// loopback, the key alone is used.
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
			return nil, errors.New("credentials: ca is no certificate")
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}))
	}
	return options, nil
}
