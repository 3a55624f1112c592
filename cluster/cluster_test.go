//go:build !nobroker

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"

	"proactivedp/cluster/broker"
)

// cluster is brokers that know each other, of the configuration in deploy.
type cluster struct {
	t       *testing.T
	brokers []*nats.Server
}

// startCluster starts three brokers of deploy/nats-server.conf and of the keys' nats.conf, on
// ports of loopback.
func startCluster(t *testing.T, keys string) *cluster {
	t.Helper()
	ring, err := broker.ReadKeyring(keys)
	if err == nil {
		err = broker.WriteConfig(keys, ring, Allow)
	}
	if err != nil {
		t.Fatal(err)
	}
	const size = 3
	ports := freePorts(t, 2*size)
	c := &cluster{t: t}
	t.Cleanup(func() {
		for _, b := range c.brokers {
			b.Shutdown()
			b.WaitForShutdown()
		}
	})
	for i := range size {
		o, err := nats.ProcessConfigFile(deployed(t, keys, i, ports[:size], ports[size:]))
		if err != nil {
			t.Fatal(err)
		}
		o.NoLog, o.NoSigs = true, true
		b, err := nats.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		c.brokers = append(c.brokers, b)
		b.Start()
	}
	c.until("is no cluster of three with a leader", func() bool {
		leads := false
		for _, b := range c.brokers { // the leader knows who is there
			leads = leads || b.JetStreamIsLeader() && len(b.JetStreamClusterPeers()) == size
		}
		return leads
	})
	return c
}

// deployed writes the configuration of one of the brokers, which is that of deploy but for the
// addresses, the folder, and where the files of the keys are.
func deployed(t *testing.T, keys string, number int, clients, routes []int) string {
	t.Helper()
	text, err := os.ReadFile("../deploy/nats-server.conf")
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, by string) {
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("deploy/nats-server.conf has no %q", old)
		}
		text = []byte(strings.ReplaceAll(string(text), old, by))
	}
	replace("0.0.0.0:4222", fmt.Sprintf("127.0.0.1:%d", clients[number]))
	replace("0.0.0.0:6222", fmt.Sprintf("127.0.0.1:%d", routes[number]))
	replace("$SERVER_NAME", fmt.Sprintf("broker-%d", number))
	replace("/data", fmt.Sprintf("%q", t.TempDir()))
	for i, port := range routes {
		replace(fmt.Sprintf("nats://broker-%d.broker:6222", i), fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	users, err := os.ReadFile(filepath.Join(keys, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	replace("include nats.conf", string(users))
	for _, name := range []string{"server.crt", "server.key"} {
		replace(`"`+name+`"`, fmt.Sprintf("%q", filepath.Join(keys, name)))
	}
	path := filepath.Join(t.TempDir(), "nats-server.conf")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// freePorts returns ports of loopback on which nobody listens.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// until waits for what the test cannot go on without.
func (c *cluster) until(lacking string, there func() bool) {
	c.t.Helper()
	for end := time.Now().Add(enough); !there(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatal("the cluster " + lacking)
		}
	}
}

func (c *cluster) url() string {
	var urls []string
	for _, b := range c.brokers {
		urls = append(urls, "tls://"+b.Addr().String())
	}
	return strings.Join(urls, ",")
}

// stopLeader stops the broker that leads a stream.
func (c *cluster) stopLeader(stream string) {
	c.t.Helper()
	for _, b := range c.brokers {
		if b.JetStreamIsStreamLeader(nats.DEFAULT_GLOBAL_ACCOUNT, stream) {
			b.Shutdown()
			b.WaitForShutdown()
			return
		}
	}
	c.t.Errorf("nobody leads the stream %s", stream)
}

// A training uses three brokers with the configuration in deploy, with TLS and keys. If the broker that
// leads the stream of updates is stopped, the training goes on, and every update is applied once.
func TestATrainingOutlivesABrokerOfThree(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for elections")
	}
	r := newTestRun(t, smallSpec(120), drawn())
	keys := filepath.Join(r.dir, "keys")
	if err := broker.MakeKeys(keys, r.spec.Clients, []string{"127.0.0.1", "localhost"}); err != nil {
		t.Fatal(err)
	}
	c := startCluster(t, keys)
	var stopped sync.WaitGroup
	defer stopped.Wait()
	var updates atomic.Int64
	r.serve = func(o *ServeOptions) {
		o.Engine, o.Creds = broker.Engine{URL: c.url()}, r.creds(keys, "server")
		o.at = func(p point) {
			if p == afterApply && updates.Add(1) == 60 {
				stopped.Go(func() { c.stopLeader(names{r.runID()}.upStream()) })
			}
		}
	}
	r.join = func(o *JoinOptions) {
		o.Creds, o.URL = r.creds(keys, fmt.Sprintf("client-%d", o.Client)), c.url()
		o.connect = nil
	}
	report, _ := r.run(context.WithoutCancel(t.Context()))
	r.checkFold(report)
	stopped.Wait()
	running := 0
	for _, b := range c.brokers {
		if b.Running() {
			running++
		}
	}
	if running != 2 || len(report.Refused) != 0 || report.Updates != 3*120 {
		t.Errorf("%d brokers run, %d updates, refused %v", running, report.Updates, report.Refused)
	}
}

// runID reads the id of the run from the server's folder.
func (r *testRun) runID() string {
	text, err := os.ReadFile(filepath.Join(r.serverDir(), runFile))
	if err != nil {
		r.t.Error(err)
		return ""
	}
	about, err := parseAnnouncement(text)
	if err != nil {
		r.t.Error(err)
		return ""
	}
	return about.Run
}
