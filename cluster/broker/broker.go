// Package broker connects the processes of a distributed training through NATS JetStream, a message broker that
// stores streams of messages on disk. An [Engine] describes the broker. The broker either runs elsewhere, or is a
// part of this program that [Engine.Start] starts. The package does not depend on the content of the messages.
//
// A broker of this program accepts connections from other machines only with TLS, and only if every user has
// credentials, see [Keyring]. With the build tag nobroker, the program contains no broker and can only connect to
// one.
package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Engine describes the message broker to use: either one that runs elsewhere (only URL is set), or one that
// [Engine.Start] starts in this process (the other fields).
type Engine struct {
	// URL is the URL of a broker that runs elsewhere, such as tls://host:4222 (see [CheckURL]). If it is "", Start
	// starts a broker as the other fields say.
	URL string
	// Listen is the HOST:PORT at which the started broker accepts connections. Port 0 selects a free port. If it is
	// "", only this process can use the broker.
	Listen   string
	StoreDir string // folder in which the started broker stores the messages; it is created if it does not exist
	// Sync is how long the started broker may wait before it flushes an acknowledged message to disk. 0 means that
	// each message is on disk before it is acknowledged, which is slower but loses nothing if the machine stops.
	Sync time.Duration
	Key  []byte // key with which the started broker encrypts its files, at least MinKey bytes; nil means no encryption
	// Keyring has the users that the started broker accepts, and its TLS certificate. If it is nil, everybody who
	// reaches the broker may do everything; then Listen must be a loopback address.
	Keyring *Keyring
	// Allow returns what a user of the Keyring may do at the started broker. If it is nil, users may do nothing.
	Allow func(User) Permissions
	// Log, unless it is nil, is called with each log message of the started broker. level is "info", "warn" or
	// "error".
	Log func(level, text string)
}

// Permissions lists what a user may do at the broker: the subjects (names of messages in NATS) under which the user
// may publish, and those to which the user may subscribe. A subject may have the wildcards of NATS, * and >.
type Permissions struct{ Publish, Subscribe []string }

// Validate returns one error that lists every field outside its range.
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

// Replicas returns how many brokers are to store a copy of each stream of messages. It is three if URL lists at least
// three brokers, separated by commas, which must then be one NATS cluster. Otherwise it is one.
func (e Engine) Replicas() int {
	if strings.Count(e.URL, ",") >= 2 {
		return 3
	}
	return 1
}

// startedMaxMessage is the longest message of a broker that Start starts, in bytes.
const startedMaxMessage = 1 << 20

// checkFree returns an error if nobody can listen at e.Listen now, for example because another program does. It is
// called first, because the broker itself would notice this only after it has read its streams.
func (e Engine) checkFree(ctx context.Context) error {
	if e.Listen == "" {
		return nil
	}
	var at net.ListenConfig
	l, err := at.Listen(ctx, "tcp", e.Listen)
	if err == nil {
		return l.Close()
	}
	if why, ok := errors.AsType[syscall.Errno](err); ok {
		err = why
	}
	err = fmt.Errorf("listen %s: %w", e.Listen, err)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: stop the program that listens there, or use another port", err)
	}
	return err
}

// MaxMessage returns the largest length of a message, in bytes, that the broker accepts. Longer data must be sent in
// parts. If the broker runs elsewhere (e.URL), MaxMessage connects to it as p, as [Dial] does, and asks. Otherwise it
// returns the fixed limit of the broker that [Engine.Start] would start. It then also checks that e.Listen is free, so
// that you learn of a problem before Start: the result is an error if, for example, another program listens there.
func (e Engine) MaxMessage(ctx context.Context, p Peer) (int64, error) {
	if e.URL == "" {
		return startedMaxMessage, e.checkFree(ctx)
	}
	c, err := Dial(ctx, e.URL, p)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.MaxPayload(), nil
}

// MinKey is the smallest length of the encryption key Engine.Key, in bytes.
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

// CheckURL returns an error if url is not the URL of a broker: nats://HOST:PORT for a broker on this machine
// (loopback), or tls://HOST:PORT for any. Several URLs are separated by commas.
func CheckURL(url string) error {
	if strings.Contains(url, "@") { // it may have a password, which must not be printed
		return errors.New("the URL has an @, must be nats://HOST:PORT or tls://HOST:PORT, or several with commas; " +
			"credentials are in a file, see --creds")
	}
	for one := range strings.SplitSeq(url, ",") {
		scheme, rest, found := strings.Cut(one, "://")
		host, port, err := net.SplitHostPort(rest)
		if !found || scheme != "nats" && scheme != "tls" || err != nil || host == "" {
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
