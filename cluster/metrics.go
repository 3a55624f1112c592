package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Exporter is an HTTP server that shows the state of a run to the monitoring system Prometheus, in the Prometheus
// text format ("Exposition formats", version 0.0.4). Make one with [ServeMetrics], and pass its method Watch as
// [ServeOptions].Watch.
type Exporter struct {
	server *http.Server
	at     string
	done   sync.WaitGroup
	mu     sync.Mutex
	status *Status
}

// ServeMetrics starts an [Exporter], which serves the metrics of a run at http://ADDRESS/metrics until Close. The
// metrics show the last status that was passed to its method Watch. address, HOST:PORT, must be a loopback address,
// because everybody who reaches it can read the metrics.
func ServeMetrics(address string) (*Exporter, error) {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("metrics = %q, must be HOST:PORT on loopback, such as 127.0.0.1:9090", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	m := &Exporter{at: l.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", m.show)
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
		MaxHeaderBytes: 1 << 16}
	m.done.Go(func() { _ = m.server.Serve(l) }) // it ends when Close is called
	return m, nil
}

// Address returns the HOST:PORT at which the metrics are served.
func (m *Exporter) Address() string { return m.at }

// Watch sets the status that the metrics show from now on. Set [ServeOptions].Watch to it, and Serve calls it.
func (m *Exporter) Watch(s *Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status = s
}

// Close stops the HTTP server. It waits for requests that are being answered.
func (m *Exporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := m.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, m.server.Close())
	}
	m.done.Wait()
	return err
}

func (m *Exporter) show(w http.ResponseWriter, _ *http.Request) {
	m.mu.Lock()
	s := m.status
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if s == nil {
		return
	}
	var text bytes.Buffer
	s.writeMetrics(&text)
	_, _ = w.Write(text.Bytes()) // the reader may have gone
}

func (s *Status) writeMetrics(w io.Writer) {
	head := func(name, kind, help string) {
		fmt.Fprintf(w, "# HELP proactivedp_%s %s\n# TYPE proactivedp_%s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, v any) {
		head(name, kind, help)
		fmt.Fprintf(w, "proactivedp_%s{run=%q} %v\n", name, s.Run, v)
	}
	one("rounds", "gauge", "Rounds T of each client.", s.Rounds)
	one("k", "gauge", "The number k of the newest broadcast.", s.K)
	one("updates_total", "counter", "Updates that were applied.", s.Updates)
	one("received_bytes_total", "counter", "Bytes of the updates that were applied.", s.Received)
	one("broadcast_bytes_total", "counter", "Bytes of broadcasts.", s.Broadcast)
	one("seconds_total", "counter", "Seconds from the first update to the last.", s.Seconds)
	head("refused_total", "counter", "Refused messages, by reason.")
	for _, why := range slices.Sorted(maps.Keys(s.Refused)) {
		fmt.Fprintf(w, "proactivedp_refused_total{run=%q,why=%q} %d\n", s.Run, why, s.Refused[why])
	}
	s.writeLags(w, head)
	for _, c := range []struct {
		name, help string
		value      func(ClientStatus) any
	}{
		{"client_round", "The first round whose update the server does not have.", func(c ClientStatus) any { return c.Next }},
		{"client_heard_seconds", "Seconds since the client's last message; -1 if there was none.",
			func(c ClientStatus) any { return c.Heard }},
		{"client_expelled", "1 if the client was expelled.", func(c ClientStatus) any {
			if c.Expelled {
				return 1
			}
			return 0
		}},
	} {
		head(c.name, "gauge", c.help)
		for _, one := range s.Clients {
			fmt.Fprintf(w, "proactivedp_%s{run=%q,client=\"%d\"} %v\n", c.name, s.Run, one.Client, c.value(one))
		}
	}
}

// writeLags writes the staleness of updates as a histogram.
func (s *Status) writeLags(w io.Writer, head func(name, kind, help string)) {
	head("staleness_rounds", "histogram", "Lag i - k of the updates.")
	below, sum := 0, 0
	for lag, n := range s.Lags {
		below, sum = below+n, sum+lag*n
		if lag&(lag-1) == 0 { // 0, 1, 2, 4, 8, …
			fmt.Fprintf(w, "proactivedp_staleness_rounds_bucket{run=%q,le=\"%d\"} %d\n", s.Run, lag, below)
		}
	}
	fmt.Fprintf(w, "proactivedp_staleness_rounds_bucket{run=%q,le=\"+Inf\"} %d\n", s.Run, below)
	fmt.Fprintf(w, "proactivedp_staleness_rounds_sum{run=%q} %d\nproactivedp_staleness_rounds_count{run=%q} %d\n",
		s.Run, sum, s.Run, below)
}
