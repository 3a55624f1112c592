package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"proactivedp/answer"
)

// The limits of a server. They bound everything that it reads, in size and in time. A client that does
// not read the answer in time is disconnected.
const (
	maxHeader     = 16 << 10
	maxAddress    = 4 << 10
	readTime      = 10 * time.Second
	takeTime      = 2 * readTime // time for reading an answer, including one that refuses a slow request
	idleTime      = 60 * time.Second
	answerTime    = 60 * time.Second // time for computing the answer to one question
	proposalTime  = 30 * time.Minute
	shutdownTime  = time.Second / 2 // time for ending requests after their context is done; shorter than an interrupt allows
	atOnce        = 4               // questions that are computed at the same time
	mostWaiting   = 256             // questions that wait or are computed
	mostConnected = 512             // open connections; further ones wait until one of them ends
)

// policy is the content security policy of a served page: everything comes from the server itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Options says whether a [Server] also proposes settings for a training. It always answers planning questions.
type Options struct {
	// Propose looks for good settings for a data set, when the page asks for them by POST /propose. question is the
	// JSON that the page sends, and the server sends the result back as JSON. If Propose is nil, the server has no
	// address /propose. Only one call runs at a time. The call must end soon after ctx is cancelled. If its error
	// wraps an answer.Problem (a reason to show to the user), the page shows this reason.
	//
	// Propose writes lines about its progress to progress. While it runs, GET /propose answers with the last line,
	// which the page shows.
	Propose func(ctx context.Context, question []byte, progress io.Writer) (any, error)
	Sets    []string // names of the data sets that Propose knows, for the page to list
}

// Server serves the planner page and answers its questions, only to this machine. Make one with
// [NewServer].
type Server struct {
	files     map[string]file
	options   Options
	computing chan struct{} // has an element for each question that is computed
	waiting   chan struct{} // has an element for each question that was accepted
	proposing chan struct{}
	progress  lastLine // of the search that runs
	takeTime  time.Duration
}

// lastLine keeps the last line that was written to it.
type lastLine struct{ text atomic.Value }

// maxLine is the largest length of a lastLine, in bytes.
const maxLine = 500

// Write keeps the last line of text that is not empty.
func (l *lastLine) Write(text []byte) (int, error) {
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) > 0 {
		l.set(lines[len(lines)-1])
	}
	return len(text), nil
}

func (l *lastLine) set(text string) { l.text.Store(text[:min(len(text), maxLine)]) }

func (l *lastLine) get() string {
	text, _ := l.text.Load().(string)
	return text
}

type file struct {
	kind string
	text []byte
}

// NewServer returns a server of the planner page. Call [Server.Serve], or use the server as an http.Handler.
func NewServer(o Options) (*Server, error) {
	page, err := servedPage(o.Sets)
	if err != nil {
		return nil, err
	}
	return &Server{
		options: o, computing: make(chan struct{}, atOnce), waiting: make(chan struct{}, mostWaiting),
		proposing: make(chan struct{}, 1), takeTime: takeTime,
		files: map[string]file{
			"/":               {"text/html; charset=utf-8", page},
			"/page.css":       {"text/css; charset=utf-8", []byte(read("page.css"))},
			"/" + chartScript: {"text/javascript; charset=utf-8", []byte(read(chartScript))},
			"/page.js":        {"text/javascript; charset=utf-8", []byte(pageScript())},
		},
	}, nil
}

// Serve answers requests at the listener until ctx is cancelled. Then it ends open requests and returns nil. The
// listener's address must be a loopback address, such as 127.0.0.1:8080; otherwise Serve returns an error, because
// the server is only for this machine.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	host, _, err := net.SplitHostPort(listener.Addr().String())
	if err != nil || !net.ParseIP(host).IsLoopback() {
		listener.Close()
		return fmt.Errorf("address = %s, must be a loopback address, such as 127.0.0.1:8080",
			listener.Addr())
	}
	base, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler: s, ReadTimeout: readTime, ReadHeaderTimeout: readTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		BaseContext:    func(net.Listener) context.Context { return base },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(netutil.LimitListener(listener, mostConnected)) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer done()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP answers one request, for the page or for a question. It refuses a request whose host name is not this
// machine's. This protects against DNS rebinding: a foreign page whose name resolves to this machine must not ask
// questions.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	taken(w, s.takeTime)
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !ownHost(r.Host):
		http.Error(w, "the host of the request is not this machine", http.StatusMisdirectedRequest)
	case len(r.RequestURI) > maxAddress:
		http.Error(w, "the address is too long", http.StatusRequestURITooLong)
	case !ownOrigin(r):
		http.Error(w, "the request is from another page", http.StatusForbidden)
	case r.URL.Path == "/answer":
		s.post(w, r, s.answer)
	case r.URL.Path == "/propose" && s.options.Propose != nil && r.Method == http.MethodGet:
		h.Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.progress.get()) // the client may have gone
	case r.URL.Path == "/propose" && s.options.Propose != nil:
		s.post(w, r, s.propose)
	default:
		s.file(w, r)
	}
}

// taken sets the time in which the client must read what is written. 0 means no limit, as while an
// answer is computed.
func taken(w http.ResponseWriter, within time.Duration) {
	var end time.Time
	if within > 0 {
		end = time.Now().Add(within)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(end) // a writer that is not a connection has no deadline
}

// ownHost reports whether the Host header names this machine by a name that always resolves to it.
func ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return name == "localhost" || net.ParseIP(name).IsLoopback()
}

// ownOrigin reports whether the request comes from a page of this server or from no page. It also
// accepts a link on another page, which opens this page and learns nothing from it.
func ownOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
			r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == "http://"+r.Host
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	f, ok := s.files[r.URL.Path]
	switch {
	case !ok:
		http.Error(w, "no such address", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Content-Length", fmt.Sprint(len(f.text)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(f.text) // the client may have gone
		}
	}
}

// post reads a question and writes the answer of reply.
func (s *Server) post(w http.ResponseWriter, r *http.Request, reply func(ctx context.Context, question []byte) ([]byte,
	int)) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	// A form on another page cannot send this type without a preflight request.
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		http.Error(w, "the question must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many questions at once", http.StatusServiceUnavailable)
		return
	}
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, answer.MaxQuestionBytes))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the question could not be read, or is too long", status)
		return
	}
	taken(w, 0)
	text, status := reply(r.Context(), question)
	taken(w, s.takeTime)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// answer answers a question of the planner, as soon as fewer than atOnce are computed.
func (s *Server) answer(ctx context.Context, question []byte) ([]byte, int) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	select {
	case s.computing <- struct{}{}:
		defer func() { <-s.computing }()
	case <-ctx.Done():
		return problem(answer.Ended, "the request was cancelled, or the answer took too long"), http.StatusServiceUnavailable
	}
	return answer.JSON(ctx, question), http.StatusOK
}

// propose answers a question for settings. Only one such search runs at a time.
func (s *Server) propose(ctx context.Context, question []byte) ([]byte, int) {
	ctx, cancel := context.WithTimeout(ctx, proposalTime)
	defer cancel()
	select {
	case s.proposing <- struct{}{}:
		defer func() { s.progress.set(""); <-s.proposing }()
	default:
		return problem(answer.Ended, "a search for settings is already running: only one runs at a time"),
			http.StatusServiceUnavailable
	}
	found, err := s.proposed(ctx, question)
	if err != nil {
		found = answer.Answer{Error: answer.NewProblem(ctx, err)}
	}
	text, err := json.Marshal(found)
	if err != nil {
		return problem(answer.Fault, err.Error()), http.StatusOK
	}
	return text, http.StatusOK
}

// proposed calls Propose and turns a panic into an error.
func (s *Server) proposed(ctx context.Context, question []byte) (found any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &answer.Problem{Kind: answer.Fault, Problems: []string{fmt.Sprintf("a fault of this program: %v",
				cause)}}
		}
	}()
	return s.options.Propose(ctx, question, &s.progress)
}

func problem(kind, text string) []byte {
	out, _ := json.Marshal(answer.Answer{Error: &answer.Problem{Kind: kind, Problems: []string{text}}}) // texts always have JSON
	return out
}
