//go:build !nobroker

package broker_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"proactivedp/cluster/broker"
)

// elsewhere starts a broker with these options and returns its HOST:PORT.
func elsewhere(t *testing.T, o server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir()
	ns, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(ns.WaitForShutdown)
	t.Cleanup(ns.Shutdown)
	if !ns.ReadyForConnections(time.Minute) {
		t.Fatal("it does not start")
	}
	return ns.Addr().String()
}

// listener accepts connections and sends a greeting to each. Then it says nothing, or hangs up.
func listener(t *testing.T, greeting string, hangUp bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, greeting)
			if hangUp {
				c.Close()
			} else {
				defer c.Close()
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String()
}

// keysOf makes a keyring and returns it with a client's credentials.
func keysOf(t *testing.T) (*broker.Keyring, *broker.Credentials) {
	t.Helper()
	dir := t.TempDir()
	if err := broker.MakeKeys(dir, 1, []string{"127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	ring, err := broker.ReadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	creds, err := broker.ReadCredentials(filepath.Join(dir, "client-0.creds"))
	if err != nil {
		t.Fatal(err)
	}
	return ring, creds
}

// If waiting does not help, Dial does not wait, and its error says what helps.
func TestDialRefusesWhatWaitingDoesNotMend(t *testing.T) {
	ring, creds := keysOf(t)
	_, others := keysOf(t)
	unknown := *others
	unknown.CA = creds.CA
	secure, err := broker.Engine{Listen: "127.0.0.1:0", StoreDir: t.TempDir(), Keyring: ring}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer secure.Close()
	plain, streams := elsewhere(t, server.Options{}), elsewhere(t, server.Options{JetStream: true})
	at, found := strings.CutPrefix(secure.URL(), "tls://")
	if !found {
		t.Fatalf("it is at %s", secure.URL())
	}
	for _, c := range []struct {
		what, url string
		creds     *broker.Credentials
		want      string
	}{
		{"a broker without JetStream", "nats://" + plain, nil, "start nats-server with --jetstream"},
		{"a broker of other keys", "tls://" + at, others, "(--creds)"},
		{"a broker with TLS, by another URL", "nats://" + at, creds, "it has TLS: use tls://HOST:PORT"},
		{"a broker with TLS, without credentials", "tls://" + at, nil, "(--creds)"},
		{"a broker by a name that its keys lack", "tls://" + strings.Replace(at, "127.0.0.1", "localhost", 1), creds,
			"(proactivedp keys --host)"},
		{"credentials of another broker", "tls://" + at, &unknown, "a user that it knows (--creds)"},
		{"a broker without users", "nats://" + streams, creds, "leave --creds out"},
		{"a broker without TLS", "tls://" + streams, creds, "it knows no credentials"},
		{"a broker without TLS, without credentials", "tls://" + streams, nil, "it has no TLS"},
		{"another service", "nats://" + listener(t, "SSH-2.0-OpenSSH_9.6\r\n", false), nil, "not a NATS broker"},
		{"an unknown command", "nats://" + listener(t, "PING\r\n", false), nil, "not a NATS broker"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		conn, err := broker.Dial(ctx, c.url, broker.Peer{Inbox: "inbox", Creds: c.creds})
		cancel()
		if conn != nil {
			conn.Close()
		}
		if !errors.Is(err, broker.ErrUnusable) || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), c.url) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// While a broker cannot be reached, Dial reports the reason once. It ends when the context ends.
func TestDialTellsWhatItWaitsFor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	l.Close()
	for _, c := range []struct{ what, at, want string }{
		{"nobody", free, "connection refused"},
		{"a listener that says nothing", listener(t, "", false), "no answer yet"},
		{"nobody, by a name", "localhost:1", "connection refused"},
		{"a listener that says half a word", listener(t, "INFO", false), "no answer yet"},
		{"a listener that hangs up", listener(t, "INFO", true), "EOF"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			told := make(chan error, 100)
			ended := make(chan error)
			begun := time.Now()
			go func() {
				_, err := broker.Dial(ctx, "nats://"+c.at, broker.Peer{Inbox: "inbox",
					Unreachable: func(err error) { told <- err }})
				ended <- err
			}()
			first := <-told
			if d := time.Since(begun); d > 30*time.Second || !strings.Contains(first.Error(), c.want) {
				t.Errorf("after %v: %v, want %q", d, first, c.want)
			}
			stopped := time.Now()
			cancel()
			err := <-ended
			if d := time.Since(stopped); d > 20*time.Second || !errors.Is(err, context.Canceled) ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("it ended after %v with %v, want %q", d, err, c.want)
			}
			if len(told) > 0 {
				t.Errorf("it tells more: %v", <-told)
			}
		})
	}
}

// A lost connection is reported.
func TestALostConnectionIsTold(t *testing.T) {
	b, err := broker.Engine{Listen: "127.0.0.1:0", StoreDir: t.TempDir()}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 100)
	c, err := broker.Dial(t.Context(), b.URL(), broker.Peer{Inbox: "inbox", Unreachable: func(err error) { told <- err }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b.Close()
	select {
	case err := <-told:
		if !strings.Contains(err.Error(), b.URL()+": the connection is lost: ") {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("nothing is told")
	}
}

// Start returns at once if another program uses the port, if the folder cannot be used, or if the context
// ends. After that the port is free.
func TestStartSaysWhyItCannot(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := broker.Engine{Listen: l.Addr().String(), StoreDir: t.TempDir()}
	_, err = taken.Start(t.Context())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "listen "+taken.Listen+": address already in use") {
		t.Errorf("a port that is taken: %v", err)
	}
	l.Close()
	b, err := taken.Start(t.Context())
	if err != nil {
		t.Fatalf("the port is free: %v", err)
	}
	b.Close()
	ring, _ := keysOf(t)
	_, err = broker.Engine{Listen: "192.0.2.1:0", StoreDir: t.TempDir(), Keyring: ring}.Start(t.Context()) // RFC 5737
	if !errors.Is(err, syscall.EADDRNOTAVAIL) || !strings.Contains(err.Error(), "listen 192.0.2.1:0: ") {
		t.Errorf("an address of another machine: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = broker.Engine{Listen: "127.0.0.1:0", StoreDir: file}.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the broker did not start") || !strings.Contains(err.Error(), file) {
		t.Errorf("a file in the place of its folder: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, err := (broker.Engine{StoreDir: t.TempDir()}).Start(ctx); !errors.Is(err, why) {
		t.Errorf("it is interrupted: %v", err)
	}
}
