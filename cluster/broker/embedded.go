//go:build !nobroker

package broker

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Embedded reports whether this program contains a broker. It is false if the program was built with the tag
// nobroker.
const Embedded = true

// Broker is the broker of an [Engine] after [Engine.Start]: it runs in this process, or it is only a reference to one
// that runs elsewhere. Call [Broker.Connect] to use it, and [Broker.Close] at the end.
type Broker struct {
	engine Engine
	ns     *server.Server // nil if it runs elsewhere
	own    nkeys.KeyPair  // the key of the program that started it; nil if none is needed
	url    string         // where others reach it; "" if nobody can
	begun  chan struct{}  // closed when it has started or failed to
}

// Start starts the broker in this process or, if e.URL is given, returns a reference to the one that runs there. A
// broker in this process reads its stored messages before it accepts connections, which may take minutes. If ctx is
// cancelled during this time, the error wraps context.Cause(ctx).
func (e Engine) Start(ctx context.Context) (*Broker, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	b := &Broker{engine: e, url: e.URL, begun: make(chan struct{})}
	if e.URL != "" {
		return b, nil
	}
	o, err := b.options()
	if err != nil {
		return nil, err
	}
	if err := e.checkFree(ctx); err != nil {
		return nil, err
	}
	if b.ns, err = server.NewServer(o); err != nil {
		return nil, err
	}
	log := logger{e.Log, make(chan string, 1)}
	b.ns.SetLoggerV2(log, false, false, false)
	go func() { // Close waits for it
		defer close(b.begun)
		b.ns.Start()
	}()
	select {
	case <-b.begun:
	case <-ctx.Done():
		b.Close()
		return nil, fmt.Errorf("the broker was starting: %w", context.Cause(ctx))
	}
	if why := log.failure(); why != "" || !b.ns.ReadyForConnections(readyTimeout) {
		b.Close()
		return nil, fmt.Errorf("the broker did not start, with its streams in %s: %s", e.StoreDir,
			cmp.Or(why, "it accepts no connections"))
	}
	if e.Listen != "" {
		b.url = "nats://" + b.ns.Addr().String()
		if e.Keyring != nil {
			b.url = "tls://" + b.ns.Addr().String()
		}
	}
	return b, nil
}

// readyTimeout is how long a broker that has started may take to say so.
const readyTimeout = time.Second

// options returns the broker's options.
func (b *Broker) options() (*server.Options, error) {
	e := b.engine
	o := &server.Options{
		ServerName: "proactivedp", DontListen: e.Listen == "", JetStream: true, StoreDir: e.StoreDir,
		NoSigs: true, NoSystemAccount: false,
		SyncAlways: e.Sync == 0, SyncInterval: e.Sync,
		MaxPayload: startedMaxMessage, MaxPending: 256 << 20, WriteDeadline: time.Minute,
	}
	if len(e.Key) > 0 {
		o.JetStreamKey, o.JetStreamCipher = hex.EncodeToString(e.Key), server.AES
	}
	if e.Listen != "" {
		host, port, err := net.SplitHostPort(e.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen = %q: %w", e.Listen, err)
		}
		if o.Host, err = host, nil; host == "localhost" {
			o.Host = "127.0.0.1"
		}
		if o.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("listen = %q: the port must be a number", e.Listen)
		}
		if o.Port == 0 {
			o.Port = server.RANDOM_PORT
		}
	}
	if e.Keyring == nil {
		return o, nil
	}
	cert, err := tls.X509KeyPair([]byte(e.Keyring.Certificate), []byte(e.Keyring.PrivateKey))
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	o.TLS, o.TLSTimeout = true, dialTimeout.Seconds()
	o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	if b.own, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	public, err := b.own.PublicKey()
	if err != nil {
		return nil, err
	}
	o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: public})
	for _, u := range e.Keyring.Users {
		may := Permissions{}
		if e.Allow != nil {
			may = e.Allow(u)
		}
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: u.Public, Permissions: &server.Permissions{
			Publish:   allowOnly(may.Publish),
			Subscribe: allowOnly(may.Subscribe),
		}})
	}
	return o, nil
}

// allowOnly allows the subjects and nothing else. An empty list allows nothing.
func allowOnly(subjects []string) *server.SubjectPermission {
	if len(subjects) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: subjects}
}

// URL returns the URL at which other processes reach the broker, or "" if only this process can use it.
func (b *Broker) URL() string { return b.url }

// Connect connects this process to the broker. If the broker runs in this process, the connection has all rights and
// does not use the network.
func (b *Broker) Connect(ctx context.Context, p Peer) (*nats.Conn, error) {
	if b.ns == nil {
		return Dial(ctx, b.engine.URL, p)
	}
	options := append(p.options(), nats.InProcessServer(b.ns))
	if b.own != nil {
		public, err := b.own.PublicKey()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Nkey(public, b.own.Sign))
	}
	return dial(ctx, "", p, options)
}

// closeTime limits how long Close waits. The broker closes its streams first. After that,
// connections whose clients do not read may take longer: they end only at WriteDeadline.
const closeTime = 5 * time.Second

// Close stops the broker, if it runs in this process, and waits for its end. It waits at most five seconds, because a
// connected process that no longer reads could delay the end for long.
func (b *Broker) Close() {
	if b.ns == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		<-b.begun
		b.ns.Shutdown()
		b.ns.WaitForShutdown()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}

// logger passes on the broker's log messages. The broker reports why it cannot start only there.
type logger struct {
	log   func(level, text string) // may be nil
	fatal chan string              // has room for one
}

func (l logger) write(level, format string, v []any) {
	if l.log != nil {
		l.log(level, fmt.Sprintf(format, v...))
	}
}

func (l logger) Noticef(format string, v ...any) { l.write("info", format, v) }
func (l logger) Warnf(format string, v ...any)   { l.write("warn", format, v) }
func (l logger) Errorf(format string, v ...any)  { l.write("error", format, v) }
func (l logger) Debugf(string, ...any)           {}
func (l logger) Tracef(string, ...any)           {}

func (l logger) Fatalf(format string, v ...any) {
	l.write("error", format, v)
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default: // the first one is the cause
	}
}

// failure returns why the broker did not start, or "".
func (l logger) failure() string {
	select {
	case why := <-l.fatal:
		return why
	default:
		return ""
	}
}
