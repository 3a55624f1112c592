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
	"time"

	"proactivedp/answer"
)

// The bounds of a server. Everything that it reads ends, in size and in time, and whoever
// takes nothing of what is written is left.
const (
	maxHeader     = 16 << 10
	maxAddress    = 4 << 10
	readTime      = 10 * time.Second
	takeTime      = 2 * readTime // in which what is written must be taken, a refusal of what was slow to come too
	idleTime      = 60 * time.Second
	answerTime    = 60 * time.Second // of one question
	proposalTime  = 30 * time.Minute
	shutdownTime  = time.Second / 2 // of what is under way, whose context is done; below what an interrupt leaves
	atOnce        = 4               // questions that are computed at the same time
	mostWaiting   = 256             // questions that wait for that
	mostConnected = 512
)

// policy is what a served page may load and do: only what is from the server itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Options are what a Server has beside the planner.
type Options struct {
	// Propose answers a question of POST /propose, which is JSON; nil: it is not there.
	// It is asked once at a time, and ends soon after ctx is done. An error that wraps an
	// answer.Problem is shown as that.
	Propose func(ctx context.Context, question []byte) (any, error)
	Sets    []string // the data sets that Propose knows
}

// Server answers the page and its questions, to this machine alone.
type Server struct {
	files     map[string]file
	options   Options
	computing chan struct{} // has one for each question that is computed
	waiting   chan struct{} // and for each that is there
	proposing chan struct{}
	takeTime  time.Duration
}

// file is what stands at an address.
type file struct {
	kind string
	text []byte
}

// NewServer returns a server of the page.
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

// Serve answers at the listener, which must be one of this machine's own addresses, until
// ctx is done; then it ends what is under way, soon, and returns nil.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	host, _, err := net.SplitHostPort(listener.Addr().String())
	if err != nil || !net.ParseIP(host).IsLoopback() {
		listener.Close()
		return fmt.Errorf("address = %s, must be one of this machine's own, such as 127.0.0.1:8080",
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
	go func() { ended <- server.Serve(limited(listener)) }()
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

// ServeHTTP answers one request. A name of the host that is not this machine's is refused:
// a page of somebody else, whose name was made to lead here, must not ask.
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
		refuse(w, http.StatusMisdirectedRequest, "the host of the request is not this machine")
	case len(r.RequestURI) > maxAddress:
		refuse(w, http.StatusRequestURITooLong, "the address is too long")
	case !ownOrigin(r):
		refuse(w, http.StatusForbidden, "the request is from another page")
	case r.URL.Path == "/answer":
		s.post(w, r, s.answer)
	case r.URL.Path == "/propose" && s.options.Propose != nil:
		s.post(w, r, s.propose)
	default:
		s.file(w, r)
	}
}

// taken gives whoever asks so long, from now on, to take what is written; 0: for ever, as
// while an answer is computed.
func taken(w http.ResponseWriter, within time.Duration) {
	var end time.Time
	if within > 0 {
		end = time.Now().Add(within)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(end) // what is no connection has no end
}

// ownHost reports whether a Host is this machine by a name that leads nowhere else.
func ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return name == "localhost" || net.ParseIP(name).IsLoopback()
}

// ownOrigin reports whether a request is of a page of this server, or of no page, or is a
// link of another page, which opens this one and learns nothing of it.
func ownOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
			r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == "http://"+r.Host
}

func refuse(w http.ResponseWriter, status int, why string) {
	http.Error(w, why, status)
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	f, ok := s.files[r.URL.Path]
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "there is nothing here")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD")
	default:
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Content-Length", fmt.Sprint(len(f.text)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(f.text) // who has gone needs no answer
		}
	}
}

// post reads a question, and writes what reply says of it.
func (s *Server) post(w http.ResponseWriter, r *http.Request, reply func(ctx context.Context, question []byte) ([]byte,
	int)) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "only POST")
		return
	}
	// A form of another page can send only other kinds, without asking first.
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "the question must be application/json")
		return
	}
	select {
	case s.waiting <- struct{}{}:
		defer func() { <-s.waiting }()
	default:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "too many questions at once")
		return
	}
	question, err := io.ReadAll(http.MaxBytesReader(w, r.Body, answer.MaxQuestionBytes))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status, "the question could not be read, or is too long")
		return
	}
	taken(w, 0)
	text, status := reply(r.Context(), question)
	taken(w, s.takeTime)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// answer answers a question of the planner, when it is its turn.
func (s *Server) answer(ctx context.Context, question []byte) ([]byte, int) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	select {
	case s.computing <- struct{}{}:
		defer func() { <-s.computing }()
	case <-ctx.Done():
		return problem(answer.Ended, "nobody waits for the answer, or it took too long"), http.StatusServiceUnavailable
	}
	return answer.JSON(ctx, question), http.StatusOK
}

// propose answers a question for settings; there is one such search at a time.
func (s *Server) propose(ctx context.Context, question []byte) ([]byte, int) {
	ctx, cancel := context.WithTimeout(ctx, proposalTime)
	defer cancel()
	select {
	case s.proposing <- struct{}{}:
		defer func() { <-s.proposing }()
	default:
		return problem(answer.Ended, "settings are being searched already: one search at a time"),
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

// proposed asks for settings, and makes an error of a panic.
func (s *Server) proposed(ctx context.Context, question []byte) (found any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &answer.Problem{Kind: answer.Fault, Problems: []string{fmt.Sprintf("a fault of this program: %v",
				cause)}}
		}
	}()
	return s.options.Propose(ctx, question)
}

func problem(kind, text string) []byte {
	out, err := json.Marshal(answer.Answer{Error: &answer.Problem{Kind: kind, Problems: []string{text}}})
	if err != nil {
		return []byte(`{"error":{"kind":"fault","problems":["no answer"]}}`)
	}
	return out
}
