package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"proactivedp/answer"
	"proactivedp/internal/testkit"
)

// serving runs a server until the test ends, and returns its address.
func serving(t *testing.T, o Options) string {
	t.Helper()
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	return servingAt(t, s, listening(t, "127.0.0.1:0"))
}

func servingAt(t *testing.T, s *Server, listener net.Listener) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the server ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the server did not end")
		}
	})
	return listener.Addr().String()
}

// soon waits until something holds, for ten seconds at most: handlers end after their answers have arrived.
func soon(holds func() bool) bool {
	for range 1000 {
		if holds() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// request is one request as it may be made.
type request struct {
	method, path, host, kind, body string
	headers                        map[string]string
}

func (r request) send(t *testing.T, client *http.Client, address string) (int, string, http.Header) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), r.method, "http://"+address+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.host != "" {
		q.Host = r.host
	}
	if r.kind != "" {
		q.Header.Set("Content-Type", r.kind)
	}
	for name, value := range r.headers {
		q.Header.Set(name, value)
	}
	reply, err := client.Do(q)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text), reply.Header
}

// foreign are the headers of a request that a page of another site makes.
func foreign(mode, dest string) map[string]string {
	return map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
}

const easy = `{"plan": {"n": 10000, "epochs": 5, "epsilon": 0.05, "method": "closed-form"}}`

// What the server gives and what it refuses: other hosts (a name that was made to lead
// here), other pages, other methods and kinds, and what is too long.
func TestServerAnswersThisMachineAlone(t *testing.T) {
	s, err := NewServer(Options{Sets: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	address := servingAt(t, s, listening(t, "127.0.0.1:0"))
	const kind = "application/json"
	for _, c := range []struct {
		r      request
		status int
		text   string
	}{
		{request{method: "GET", path: "/"}, 200, "ProactiveDP planner"},
		{request{method: "HEAD", path: "/"}, 200, ""},
		{request{method: "GET", path: "/page.js"}, 200, "use strict"},
		{request{method: "GET", path: "/plot.js"}, 200, "@observablehq/plot"},
		{request{method: "GET", path: "/page.css"}, 200, ":root"},
		{request{method: "POST", path: "/answer", kind: kind, body: easy}, 200, `"verdict"`},
		{request{method: "POST", path: "/answer", kind: kind + "; charset=utf-8", body: easy}, 200, `"verdict"`},
		{request{method: "POST", path: "/answer", kind: kind, body: `{"plan": 1}`}, 200, `"wrong"`},
		{request{method: "POST", path: "/answer", kind: kind, host: "localhost", body: easy}, 200, `"verdict"`},
		{request{method: "GET", path: "/", host: "[::1]:80"}, 200, ""},
		{request{method: "GET", path: "/", host: "evil.example"}, 421, ""},
		{request{method: "GET", path: "/", host: "127.0.0.1.evil.example"}, 421, ""},
		{request{method: "GET", path: "/", host: "localhost.evil.example"}, 421, ""},
		{request{method: "GET", path: "/", host: "10.0.0.1"}, 421, ""},
		{request{method: "POST", path: "/answer", kind: kind, host: "evil.example:80", body: easy}, 421, ""},
		{request{method: "POST", path: "/answer", kind: kind, body: easy, headers: map[string]string{
			"Origin": "http://evil.example"}}, 403, ""},
		{request{method: "POST", path: "/answer", kind: kind, body: easy, headers: map[string]string{
			"Sec-Fetch-Site": "cross-site"}}, 403, ""},
		{request{method: "GET", path: "/", headers: foreign("navigate", "document")}, 200, "ProactiveDP planner"},
		{request{method: "GET", path: "/", headers: foreign("navigate", "iframe")}, 403, ""},
		{request{method: "GET", path: "/page.js", headers: foreign("no-cors", "script")}, 403, ""},
		{request{method: "POST", path: "/answer", kind: kind, body: easy, headers: foreign("navigate", "document")},
			403, ""},
		{request{method: "POST", path: "/answer", kind: kind, body: easy, headers: map[string]string{
			"Sec-Fetch-Site": "same-site"}}, 403, ""}, // another port of this machine
		{request{method: "POST", path: "/answer", kind: "text/plain", body: easy}, 415, ""},
		{request{method: "POST", path: "/answer", kind: "text/json", body: easy}, 415, ""},
		{request{method: "POST", path: "/answer", body: easy}, 415, ""},
		{request{method: "GET", path: "/answer"}, 405, ""},
		{request{method: "DELETE", path: "/"}, 405, ""},
		{request{method: "POST", path: "/", kind: kind, body: easy}, 405, ""},
		{request{method: "POST", path: "/propose", kind: kind, body: "{}"}, 404, ""},
		{request{method: "GET", path: "/static/index.html"}, 404, ""},
		{request{method: "GET", path: "/../server.go"}, 404, ""},
		{request{method: "GET", path: "/" + strings.Repeat("a", 2*maxAddress)}, 414, ""},
		{request{method: "POST", path: "/answer", kind: kind, body: strings.Repeat(" ", answer.MaxQuestionBytes+1)},
			413, ""},
	} {
		status, text, header := c.r.send(t, http.DefaultClient, address)
		if status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %.60s of %q: %d %.200s, want %d", c.r.method, c.r.path, c.r.host, status, text, c.status)
		}
		got := header.Get("Content-Security-Policy")
		if !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") ||
			header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", c.r.path, header)
		}
	}
	if !soon(func() bool { return len(s.waiting)+len(s.computing) == 0 }) {
		t.Errorf("%d answered questions still wait, %d are computed", len(s.waiting), len(s.computing))
	}
	if err := new(Server).Serve(t.Context(), listening(t, "0.0.0.0:0")); err == nil {
		t.Error("it listens to all machines")
	}
}

func listening(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// leavable tells when a connection that it took is closed.
type leavable struct {
	net.Listener
	left chan struct{}
}

type leftConn struct {
	net.Conn
	leave func()
}

func (l *leavable) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &leftConn{conn, sync.OnceFunc(func() { close(l.left) })}, nil
}

func (c *leftConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// Whoever asks and takes nothing holds no place for ever: of pages, of answers and of what
// is refused.
func TestServerLeavesWhoTakesNothing(t *testing.T) {
	for name, request := range map[string]string{
		"page": "GET /plot.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"answer": "POST /propose HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Content-Length: 2\r\n\r\n{}",
	} {
		long := strings.Repeat("x", 1<<20)
		s, err := NewServer(Options{Propose: func(context.Context, []byte, io.Writer) (any, error) { return long, nil }})
		if err != nil {
			t.Fatal(err)
		}
		s.takeTime = 50 * time.Millisecond
		listener := &leavable{listening(t, "127.0.0.1:0"), make(chan struct{})}
		conn, err := net.Dial("tcp", servingAt(t, s, listener))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, strings.Repeat(request, 400)); err != nil { // for 100 MB and more
			t.Fatal(err)
		}
		select {
		case <-listener.left:
		case <-time.After(time.Minute):
			t.Errorf("%s: the connection is held", name)
		}
	}
}

// Ten thousand hostile requests: sizes, paths, hosts, methods, nesting, and what is no
// request at all. The server answers all that is one, panics at none, and takes no more
// than 200 MiB.
func TestServerBearsHostileRequests(t *testing.T) {
	requests := 2000 * testkit.Sweeps(t)
	address := serving(t, Options{})
	draw := rand.New(rand.NewPCG(3, 4))
	pick := func(list ...string) string { return list[draw.IntN(len(list))] }
	junk := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(draw.Uint32())
		}
		return string(b)
	}
	var most, answered atomic.Uint64
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse+m.StackInuse))
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	bodies := func() string {
		switch draw.IntN(7) {
		case 0:
			return strings.Repeat(pick("[", `{"plan":`, `{"a":[`), draw.IntN(20_000))
		case 1:
			return junk(draw.IntN(5000))
		case 2:
			return fmt.Sprintf(`{"plan": {"n": %d, "epochs": %v, "epsilon": %v}}`, draw.Int64(), draw.ExpFloat64(),
				draw.NormFloat64())
		case 3:
			return `{"plan": {"n": 1e400, "` + junk(10) + `": null}}`
		case 4:
			return strings.Repeat("9", draw.IntN(answer.MaxQuestionBytes*2))
		case 5:
			round := `{"noise_multiplier": 1, "sample_rate": 1, "count": 1},`
			return `{"account": {"delta": 0.1, "events": [` + strings.Repeat(round,
				draw.IntN(600)) + `null]}}`
		}
		return easy
	}
	one := func(text string) {
		conn, err := net.DialTimeout("tcp", address, time.Minute)
		if err != nil {
			t.Errorf("the server takes no connection: %v", err)
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, text) // it may end the connection before all is sent
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		reply, _ := io.ReadAll(io.LimitReader(conn, 1<<20))
		if bytes.HasPrefix(reply, []byte("HTTP/1.1 ")) {
			answered.Add(1)
		}
		if bytes.Contains(reply, []byte(`"kind":"fault"`)) {
			t.Errorf("a fault: %.300s after %.300q", reply, text)
		}
	}
	var wait sync.WaitGroup
	places := make(chan struct{}, 32)
	for range requests {
		body := bodies()
		text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s",
			pick("POST", "POST", "POST", "GET", "PUT", "OPTIONS", "\x00", "post"),
			pick("/answer", "/answer", "/answer", "/", "/propose", "//answer", "/%2e%2e/", "/answer?"+junk(20), "*",
				"http://x/"),
			pick(address, address, address, "evil", "", "127.0.0.1:99999", junk(5)), pick("application/json",
				"text/html", junk(9)),
			max(0, len(body)+draw.IntN(3)-1), pick("", "", "Transfer-Encoding: "+
				"chunked\r\n", "X: "+strings.Repeat("y", 20_000)+"\r\n"), body)
		if draw.IntN(20) == 0 {
			text = junk(200)
		}
		places <- struct{}{}
		wait.Go(func() { one(text); <-places })
	}
	wait.Wait()
	close(done)
	watch.Wait()
	t.Logf("%d requests, %d answered, at most %d MiB", requests, answered.Load(), most.Load()>>20)
	if most.Load() > 200<<20 {
		t.Errorf("%d MiB were taken, at most 200 may be", most.Load()>>20)
	}
	if answered.Load() < uint64(requests)*2/3 {
		t.Errorf("only %d of %d requests were answered", answered.Load(), requests)
	}
	status, text, _ := request{method: "POST", path: "/answer", kind: "application/json", body: easy}.send(t,
		http.DefaultClient, address)
	if status != 200 || !strings.Contains(text, `"verdict"`) {
		t.Errorf("afterwards: %d %s", status, text)
	}
}

// A hundred clients at once are all answered. The questions are easy ones, so that this is
// so on a slow machine, too, which has a minute for each.
func TestServerAnswersAHundredAtOnce(t *testing.T) {
	address := serving(t, Options{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	var wait sync.WaitGroup
	var right atomic.Int32
	for i := range 100 {
		wait.Go(func() {
			body := fmt.Sprintf(`{"plan": {"n": %d, "epochs": 5, "epsilon": 0.5, "method": "closed-form"}}`, 10_000+i)
			status, text, _ := request{method: "POST", path: "/answer", kind: "application/json", body: body}.send(t,
				client, address)
			if status == 200 && strings.Contains(text, fmt.Sprintf(`"n":%d,`, 10_000+i)) {
				right.Add(1)
			}
		})
	}
	wait.Wait()
	if right.Load() != 100 {
		t.Errorf("%d of 100 clients have their answer", right.Load())
	}
}

// Only one search for settings runs at a time. It ends with the request and with the server. Its last
// line of progress can be read.
func TestProposalsAreOneAtATime(t *testing.T) {
	begun, ended := make(chan struct{}, 9), make(chan error, 9)
	address := serving(t, Options{Propose: func(ctx context.Context, question []byte, progress io.Writer) (any, error) {
		switch {
		case bytes.Contains(question, []byte("wrong")):
			return nil, errors.New("epsilon = 0, must be given")
		case bytes.Contains(question, []byte("none")):
			return nil, &answer.Problem{Kind: answer.Infeasible, Problems: []string{"too much"}}
		case bytes.Contains(question, []byte("nan")):
			return math.NaN(), nil
		case bytes.Contains(question, []byte("panic")):
			panic("planted")
		case bytes.Contains(question, []byte("soon")):
			return map[string]int{"proposals": 3}, nil
		}
		fmt.Fprintf(progress, "proxies: 1 done\nproxies: 2 done\n")
		begun <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}})
	ask := func(ctx context.Context, body string) (int, string) {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/propose",
			strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		q.Header.Set("Content-Type", "application/json")
		reply, err := http.DefaultClient.Do(q)
		if err != nil {
			return 0, err.Error()
		}
		defer reply.Body.Close()
		text, _ := io.ReadAll(reply.Body)
		return reply.StatusCode, string(text)
	}
	for body, want := range map[string]string{"soon": `{"proposals":3}`,
		"wrong": `{"error":{"kind":"wrong","problems":["epsilon = 0, must be given"]}}`,
		"none":  `{"error":{"kind":"infeasible","problems":["too much"]}}`,
		"nan":   `{"error":{"kind":"fault"`,
		"panic": `{"error":{"kind":"fault","problems":["a fault of this program: planted"]}}`} {
		if status, text := ask(t.Context(), body); status != 200 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", body, status, text, want)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { ask(ctx, "long") })
	<-begun
	if status, text := ask(t.Context(), "soon"); status != 503 || !strings.Contains(text, "only one runs at a time") {
		t.Errorf("beside another: %d %s", status, text)
	}
	course := func() string {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/propose", nil)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		text, _ := io.ReadAll(reply.Body)
		return string(text)
	}
	if line := course(); line != "proxies: 2 done" {
		t.Errorf("the course of the search: %q", line)
	}
	leave()
	wait.Wait()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the search goes on for nobody")
	}
	if !soon(func() bool { return course() == "" }) {
		t.Error("a search that has ended still has a course")
	}
	var line lastLine
	if fmt.Fprintln(&line, strings.Repeat("a", 2*maxLine)); len(line.get()) != maxLine {
		t.Errorf("a line of %d bytes is kept", len(line.get()))
	}
}
