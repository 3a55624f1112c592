//go:build !nobroker

package broker

import (
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

// Embedded reports whether this program contains a broker.
const Embedded = true

// Broker is the broker of an Engine.
type Broker struct {
	engine Engine
	ns     *server.Server // nil if it runs elsewhere
	own    nkeys.KeyPair  // the key of the program that started it; nil if none is needed
	url    string         // where others reach it; "" if nobody can
}

// readyTimeout is how long a broker may take to start. It first reads its streams.
const readyTimeout = 5 * time.Minute

// Start starts the broker, unless it runs elsewhere.
func (e Engine) Start() (*Broker, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	b := &Broker{engine: e, url: e.URL}
	if e.URL != "" {
		return b, nil
	}
	o, err := b.options()
	if err != nil {
		return nil, err
	}
	if b.ns, err = server.NewServer(o); err != nil {
		return nil, err
	}
	if e.Log != nil {
		b.ns.SetLoggerV2(logger{e.Log}, false, false, false)
	}
	b.ns.Start()
	if !b.ns.ReadyForConnections(readyTimeout) {
		b.Close()
		return nil, fmt.Errorf("it did not start at %q: is the address taken?", e.Listen)
	}
	if e.Listen != "" {
		b.url = "nats://" + b.ns.Addr().String()
		if e.Keyring != nil {
			b.url = "tls://" + b.ns.Addr().String()
		}
	}
	return b, nil
}

// options returns the broker's options.
func (b *Broker) options() (*server.Options, error) {
	e := b.engine
	o := &server.Options{
		ServerName: "proactivedp", DontListen: e.Listen == "", JetStream: true, StoreDir: e.StoreDir,
		NoSigs: true, NoLog: e.Log == nil, NoSystemAccount: false,
		SyncAlways: e.Sync == 0, SyncInterval: e.Sync,
		MaxPending: 256 << 20, WriteDeadline: time.Minute,
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

// URL returns where others reach the broker, or "" if nobody can.
func (b *Broker) URL() string { return b.url }

// Connect connects this process to the broker. If it started the broker, the connection does not use
// the network and has all rights.
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
	return dial(ctx, "", options)
}

// closeTime limits how long Close waits. The broker closes its streams first. After that,
// connections whose clients do not read may take longer: they end only at WriteDeadline.
const closeTime = 5 * time.Second

// Close stops the broker, if it was started here, and waits for its end. It does not wait for
// clients that do not read.
func (b *Broker) Close() {
	if b.ns == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		b.ns.Shutdown()
		b.ns.WaitForShutdown()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}

// logger passes on the broker's log messages.
type logger struct{ log func(level, text string) }

func (l logger) Noticef(format string, v ...any) { l.log("info", fmt.Sprintf(format, v...)) }
func (l logger) Warnf(format string, v ...any)   { l.log("warn", fmt.Sprintf(format, v...)) }
func (l logger) Errorf(format string, v ...any)  { l.log("error", fmt.Sprintf(format, v...)) }
func (l logger) Fatalf(format string, v ...any)  { l.log("error", fmt.Sprintf(format, v...)) }
func (l logger) Debugf(string, ...any)           {}
func (l logger) Tracef(string, ...any)           {}
