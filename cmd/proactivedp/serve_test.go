package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"proactivedp/answer"
	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/dp"
	"proactivedp/plan"
	"proactivedp/propose"
)

// served runs the command serve until stop is called, and returns its address.
func served(t *testing.T) (address string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--address", "127.0.0.1:0"}, w, io.Discard)
		w.Close()
	}()
	line := make([]byte, 200)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n])), func() int {
		cancel()
		return <-ended
	}
}

// The server gives the page and its answers, searches settings on drawn data, and ends
// with status 0 when it is interrupted, while somebody is connected.
func TestServe(t *testing.T) {
	address, stop := served(t)
	client := &http.Client{Timeout: 2 * time.Minute}
	post := func(path, question string) string {
		reply, err := client.Post(address+path, "application/json", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	easy := post("answer", `{"plan": {"n": 10000, "epochs": 5, "epsilon": 0.05, "method": "closed-form"}}`)
	if !strings.Contains(easy, "Feasible: 1613") {
		t.Errorf("answer %.300s", easy)
	}
	for question, want := range map[string]string{
		`{"data": "secret.libsvm", "epsilon": 1}`:       "must be one of phishing",
		`{"data": "synth-phishing"}`:                    "an epsilon or a target accuracy must be given",
		`{"data": "synth-phishing", "root": "/etc"}`:    "unknown field",
		`{"data": "synth-phishing", "epsilon": 1e9}`:    "must be in [0.0001, 64]",
		`{"data": "synth-phishing", "epsilon": "much"}`: "must be a number",
	} {
		if text := post("propose", question); !strings.Contains(text, want) || !strings.Contains(text, answer.Wrong) {
			t.Errorf("%s: %.300s, want %q", question, text, want)
		}
	}
	if !testing.Short() {
		var report propose.Report
		text := post("propose", `{"data": "synth-phishing", "epsilon": 0.2, "clients": 1, "rounds": [20], "seeds": 3}`)
		err := json.Unmarshal([]byte(text), &report)
		if err != nil || len(report.Proposals) == 0 || report.TargetEpsilon != 0.2 {
			t.Errorf("proposals %.300s: %v", text, err)
		}
	}
	// A browser opens connections ahead, of which nothing may come.
	silent, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(address, "http:"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if reply, err := client.Get(address); err != nil { // so that the server has accepted both
		t.Error(err)
	} else {
		reply.Body.Close()
	}
	// net/http waits 5 seconds for a connection of which nothing came. The bound is below that, and far above what an end
	// takes.
	const most = 4 * time.Second
	interrupted := time.Now()
	if code := stop(); code != exitOK || time.Since(interrupted) > most {
		t.Errorf("exit status %d after %v, want %d within %v", code, time.Since(interrupted), exitOK, most)
	}
}

// A search whose data are not there says so, downloads nothing for whoever has gone, and one
// without a result says that nothing meets what was asked: none of them is a wrong question.
func TestSearchesSayWhyThereIsNoAnswer(t *testing.T) {
	t.Setenv(cli.DataEnv, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	cmd := newServe()
	cmd.SetContext(t.Context())
	search, question := searching(cmd, &cli.DataFlags{}), []byte(`{"data": "phishing", "epsilon": 1}`)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := search(gone, question, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("for nobody: %v", err)
	}
	t.Setenv(cli.DataEnv, t.TempDir())
	_, err := search(t.Context(), question, io.Discard)
	if p := answer.NewProblem(t.Context(), err); p.Kind != answer.Unavailable || len(p.Problems) == 0 {
		t.Errorf("without data: %+v", p)
	}
	err = sorted(&propose.Infeasible{Reason: "too little"})
	if p := answer.NewProblem(t.Context(), err); p.Kind != answer.Infeasible ||
		!strings.Contains(p.Problems[0], "too little") {
		t.Errorf("without a setting: %+v", p)
	}
	if sorted(nil) != nil {
		t.Error("an answer has a problem")
	}
}

// The commands that an answer names give that answer.
func TestCommandsOfAnswersGiveThem(t *testing.T) {
	for i, q := range []plan.Request{
		{N: 10000, Epochs: 5, Sigma: 19.29962, Method: plan.ClosedForm},
		{N: 8844, Epochs: 5, Epsilon: 0.25, Clients: 5, Shared: true},
		{N: 50000, SampleSize: 500, Epochs: 10, Epsilon: 2, Delta: 1e-6, Method: plan.PLD, Adjacency: "replace-one"},
		{N: 20000, Epochs: 5, Sigma: 10, Theta: 2, Method: plan.ClosedForm},
		{N: 100, Batches: 4, Epochs: 2, Epsilon: 2, Delta: 1e-3, Sampling: dp.Allocation, Redraw: dp.EachEpoch},
		{N: 100, SampleSize: 10, Epochs: 2, Epsilon: 2, Delta: 1e-3, Group: 3},
	} {
		question := answer.PlanQuestion{Request: q, Tight: true, Code: true, Accuracy: []float64{0, 0.2, 0, 0.2, 0, 0}[i]}
		a, err := answer.Solve(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(a.Code[0].Text, "\\\n", " ")
		lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\n\n", "\n")), "\n")
		if a.Code[0].Format != answer.Command || len(lines) != 2 {
			t.Fatalf("%+v: %q", q, a.Code[0].Text)
		}
		if out := printed(t, strings.TrimPrefix(lines[0], "proactivedp ")); !strings.HasPrefix(out, a.Verdict+"\n") {
			t.Errorf("%s\nprints %.200s\nwant %s", lines[0], out, a.Verdict)
		}
		var accounts []answer.Accounting
		out := printed(t, strings.TrimPrefix(lines[1], "proactivedp ")+" --accountant pld --json")
		if err := json.NewDecoder(bytes.NewReader([]byte(out))).Decode(&accounts); err != nil {
			t.Fatal(err)
		}
		got, b := accounts[0].EpsilonUpper, cmp.Or(a.Certified(), a.PerRecord)
		if b == nil || got == nil || *got != b.EpsilonUpper {
			t.Errorf("%s\ngives %.200s\nwant %+v", lines[1], out, b)
		}
	}
}
