// Package broker connects processes through NATS JetStream. The broker is either part of this
// program, started by an Engine, or runs elsewhere. The package does not know what the messages
// mean.
//
// A broker listens beyond loopback only with TLS, and only if every user has credentials, see
// Keyring. With the build tag nobroker, the program contains no broker and can only connect to one.
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

// Engine describes the broker that the processes use: one that runs elsewhere, or one that Start
// starts.
type Engine struct {
	// URL is a broker that runs elsewhere, such as nats://host:4222. If it is "", Start starts a
	// broker as the other fields say.
	URL string
	// Listen is the HOST:PORT at which the started broker listens. Port 0 selects a free port. If it
	// is "", only this process can use the broker.
	Listen   string
	StoreDir string // the folder of its streams; it is created if it does not exist
	// Sync is how long the broker may wait between acknowledging a message and flushing it to disk.
	// 0 means that each message is on disk before it is acknowledged.
	Sync time.Duration
	Key  []byte // encrypts the broker's files; nil means no encryption
	// Keyring has the broker's users and its TLS certificate. If it is nil, everybody who reaches
	// the broker may do everything, which is allowed only on loopback.
	Keyring *Keyring
	// Allow returns what a user of the keyring may do.
	Allow func(User) Permissions
	// Log, unless it is nil, receives the broker's log messages.
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
			errs = append(errs, fmt.Errorf("listen = %q and a broker's URL %s are given, must be only one of them",
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

// Replicas returns how many copies a stream has: three if the URL names at least three brokers,
// which then form a cluster, and otherwise one.
func (e Engine) Replicas() int {
	if strings.Count(e.URL, ",") >= 2 {
		return 3
	}
	return 1
}

// MinKey is the length of the shortest key, in bytes.
const MinKey = 16

// checkListen returns an error if the broker must not listen at e.Listen.
func (e Engine) checkListen() error {
	host, port, err := net.SplitHostPort(e.Listen)
	if err != nil {
		return fmt.Errorf("listen = %q, must be HOST:PORT", e.Listen)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("listen = %q: the port must be in [0, 65535]", e.Listen)
	}
	if e.Keyring == nil && !loopback(host) {
		return fmt.Errorf("listen = %q is reachable from other machines, which needs TLS and credentials: make them "+
			"with proactivedp keys and give --keys, or listen on 127.0.0.1", e.Listen)
	}
	return nil
}

// loopback reports whether a host can only be reached from this machine. Of all names, only
// localhost counts: other names may be resolved to any address.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// CheckURL returns an error if a URL is not the URL of a broker.
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
			return fmt.Errorf("URL = %q: a broker on another machine needs tls://HOST:PORT", url)
		}
	}
	return nil
}

// Peer has the name, the credentials and the callbacks of a connection to a broker.
type Peer struct {
	Name  string       // the connection's name in the broker's lists
	Creds *Credentials // nil means no credentials
	// Inbox is the first part of the subjects under which answers arrive. Nobody else may be allowed
	// to listen there.
	Inbox string
	// Reconnected, unless it is nil, is called from a goroutine of the connection each time the
	// connection returns after a loss.
	Reconnected func()
}

// Dial connects to a broker. If the broker is not up yet, Dial waits for it until the context ends.
// A lost connection returns by itself. Publishing while it is lost is an error.
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

// These are the timeouts of a connection.
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
		// A refused operation returns an error to its caller, so it is not logged here.
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

// untrusted reports whether err is about a certificate, so that waiting does not help.
func untrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
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
