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

// Embedded says whether this program has a broker of its own.
const Embedded = true

// Broker is the broker that an engine speaks of.
type Broker struct {
	engine Engine
	ns     *server.Server // nil: it runs elsewhere
	own    nkeys.KeyPair  // the key of the program that started it; nil: none is needed
	url    string         // where others reach it; "": nobody does
}

// readyTimeout is how long a broker may take to start. It reads its streams first.
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

// options are the broker's.
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

// allowOnly allows the subjects and nothing else; of none, nothing at all.
func allowOnly(subjects []string) *server.SubjectPermission {
	if len(subjects) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	return &server.SubjectPermission{Allow: subjects}
}

// URL returns where others reach the broker; "" where nobody does.
func (b *Broker) URL() string { return b.url }

// Connect connects this process to the broker: of one that it started, past the
// network and with all rights.
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

// closeTime is how long Close waits. The streams are closed first, and what takes longer is a
// connection that takes nothing of what is written to it, to the end of WriteDeadline.
const closeTime = 5 * time.Second

// Close stops the broker, if it was started here, and waits for it, but not for those that take
// nothing of what is sent.
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

// logger hands on what a broker says.
type logger struct{ log func(level, text string) }

func (l logger) Noticef(format string, v ...any) { l.log("info", fmt.Sprintf(format, v...)) }
func (l logger) Warnf(format string, v ...any)   { l.log("warn", fmt.Sprintf(format, v...)) }
func (l logger) Errorf(format string, v ...any)  { l.log("error", fmt.Sprintf(format, v...)) }
func (l logger) Fatalf(format string, v ...any)  { l.log("error", fmt.Sprintf(format, v...)) }
func (l logger) Debugf(string, ...any)           {}
func (l logger) Tracef(string, ...any)           {}
