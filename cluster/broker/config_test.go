//go:build !nobroker

package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"proactivedp/cluster/broker"
)

// A nats-server with the configuration file knows the users, and allows each of them what its role needs.
func TestABrokerElsewhereIsConfigured(t *testing.T) {
	dir := t.TempDir()
	if err := broker.MakeKeys(dir, 1, []string{"127.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	ring, err := broker.ReadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := broker.WriteConfig(dir, ring, func(u broker.User) broker.Permissions {
		if u.Role == broker.Client {
			return broker.Permissions{Publish: []string{"mine"}, Subscribe: []string{"inbox.>"}}
		}
		return broker.Permissions{}
	}); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the configuration names the certificate beside it
	o, err := server.ProcessConfigFile("nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	o.JetStream, o.StoreDir = true, t.TempDir()
	ns, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(time.Minute) {
		t.Fatal("it does not start")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	creds, err := broker.ReadCredentials(filepath.Join(dir, "client-0.creds"))
	if err != nil {
		t.Fatal(err)
	}
	url := "tls://" + ns.Addr().String()
	c, err := broker.Dial(ctx, url, broker.Peer{Inbox: "inbox", Creds: creds})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	publish := func(subject string) error {
		if err := errors.Join(c.Publish(subject, nil), c.FlushTimeout(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return c.LastError() // the connection remembers it
	}
	for i, subject := range []string{"mine", "earlier"} {
		if err := publish(subject); errors.Is(err, nats.ErrPermissionViolation) != (i == 1) {
			t.Errorf("published to %s: %v", subject, err)
		}
	}
	allowed, end := broker.UntilRefused(ctx, c)
	defer end()
	_ = publish("others")
	<-allowed.Done()
	if err := broker.Refused(allowed, allowed.Err()); !errors.Is(err, broker.ErrUnusable) || !strings.Contains(fmt.Sprint(err), `"others"`) {
		t.Errorf("what is not allowed ends as %v", err)
	}
	if err := broker.Refused(ctx, jetstream.ErrJetStreamNotEnabledForAccount); !errors.Is(err, broker.ErrUnusable) {
		t.Errorf("an account without JetStream ends as %v", err)
	}
	if err := broker.Refused(ctx, context.DeadlineExceeded); err != nil {
		t.Errorf("a broker without an answer ends as %v", err)
	}
	if c, err := broker.Dial(ctx, url, broker.Peer{Inbox: "inbox"}); err == nil {
		c.Close()
		t.Error("connected without credentials")
	}
}

// nats-server accepts the configuration of the cluster in deploy, which uses TLS between brokers and for
// users.
func TestTheClusterIsConfigured(t *testing.T) {
	text, err := os.ReadFile("../../deploy/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := broker.MakeKeys(dir, 1, []string{"broker-0.broker"}); err != nil {
		t.Fatal(err)
	}
	ring, err := broker.ReadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	none := func(broker.User) broker.Permissions { return broker.Permissions{} }
	if err := broker.WriteConfig(dir, ring, none); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "nats-server.conf"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SERVER_NAME", "broker-0")
	t.Chdir(dir)
	o, err := server.ProcessConfigFile("nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	if !o.JetStream || !o.SyncAlways || o.TLSConfig == nil || o.Cluster.TLSConfig == nil || len(o.Routes) != 3 ||
		len(o.Nkeys) != len(ring.Users) || o.ServerName != "broker-0" {
		t.Errorf("JetStream %v, sync %v, TLS %v and %v, %d routes, %d users", o.JetStream, o.SyncAlways,
			o.TLSConfig != nil, o.Cluster.TLSConfig != nil, len(o.Routes), len(o.Nkeys))
	}
}

// The broker accepts connections from other machines only with TLS and credentials. Clients connect to
// other machines only with TLS.
func TestNothingListensBeyondThisMachineOpenly(t *testing.T) {
	for listen, good := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "0.0.0.0:0": false, ":4222": false,
		"example.org:4222": false, "192.168.0.1:1": false, "127.0.0.1": false, "127.0.0.1:x": false,
	} {
		if err := (broker.Engine{Listen: listen, StoreDir: "x"}).Validate(); (err == nil) != good {
			t.Errorf("listen %q: %v", listen, err)
		}
	}
	for url, good := range map[string]bool{
		"nats://127.0.0.1:4222": true, "tls://example.org:4222": true, "nats://example.org:4222": false,
		"tls://a:1,tls://b:2": true, "tls://a:1,nats://b:2": false, "http://a:1": false, "": false,
		"tls://u@a:1": false,
		// These would be waited for without an end.
		"nats://127.0.0.1:42222222": false, "nats://127.0.0.1:": false, "nats://127.0.0.1:0": false,
		"nats://127.0.0.1:nats": false, "tls://a:1/": false, "tls://a:1,tls://b:-1": false,
	} {
		if err := broker.CheckURL(url); (err == nil) != good {
			t.Errorf("URL %q: %v", url, err)
		}
	}
	if err := broker.CheckURL("tls://a:1,tls://bob:hunter2@b:2"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a URL with a password: %v", err)
	}
}

// A file that is not a keyring, or not credentials, is an error that names the file.
func TestKeysThatAreNone(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "{}", `{"version":1,"users":[{"role":"king","client":0,"public":"U"}]}`} {
		if err := os.WriteFile(filepath.Join(dir, "server.keys"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := broker.ReadKeyring(dir); err == nil {
			t.Errorf("%q is a keyring", text)
		}
		if _, err := broker.ReadCredentials(filepath.Join(dir, "server.keys")); err == nil {
			t.Errorf("%q are credentials", text)
		}
	}
}

// Credentials belong to one role. Without credentials, a user has every role.
func TestCredentialsAreOfOneRole(t *testing.T) {
	if err := (*broker.Credentials)(nil).Check(broker.Server); err != nil {
		t.Errorf("no credentials: %v", err)
	}
	roles := []broker.Role{broker.Client, broker.Operator, broker.Worker, broker.Server}
	for _, has := range roles {
		for _, needed := range roles {
			if err := (&broker.Credentials{Role: has}).Check(needed); (err == nil) != (has == needed) {
				t.Errorf("credentials of %q where %q are needed: %v", has, needed, err)
			}
		}
	}
}

// A subscriber that reads nothing, such as a sleeping machine, does not delay the end of the broker.
func TestABrokerLeavesWhoTakesNothing(t *testing.T) {
	b, err := broker.Engine{Listen: "127.0.0.1:0", StoreDir: t.TempDir()}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asleep, err := net.Dial("tcp", strings.TrimPrefix(b.URL(), "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer asleep.Close()
	if _, err := asleep.Write([]byte("CONNECT {\"verbose\":false}\r\nSUB news 1\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	for text := ""; !strings.Contains(text, "PONG"); { // the broker knows of it
		some := make([]byte, 1000)
		n, err := asleep.Read(some)
		if err != nil {
			t.Fatal(err)
		}
		text += string(some[:n])
	}
	c, err := b.Connect(t.Context(), broker.Peer{Name: "server", Inbox: "_INBOX_server"})
	if err != nil {
		t.Fatal(err)
	}
	news := make([]byte, 1<<19)
	for range 64 { // more than what lies between two sockets
		if err := c.Publish("news", news); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	start := time.Now()
	b.Close()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the broker's end took %v", took)
	}
}
