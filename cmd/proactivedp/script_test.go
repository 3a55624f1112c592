package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/internal/f32"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "proactivedp" {
		// Hundreds of commands run in this process, see runHere: most of a small heap is collected
		// for nothing. The program that scripts start is as it is.
		debug.SetGCPercent(800)
	}
	testscript.Main(m, map[string]func(){"proactivedp": main})
}

// drawnHere has the synthetic sets that commands of this process have drawn.
var drawnHere struct {
	sync.Mutex
	sets map[string]*data.Dataset
}

// drawOnce draws each set once. Each caller gets its own Dataset, because commands write notes into it. The rows are
// shared, because they are read-only.
func drawOnce(name string) (*data.Dataset, error) {
	drawnHere.Lock()
	defer drawnHere.Unlock()
	if drawnHere.sets[name] == nil {
		d, err := cli.Draw(context.Background(), name)
		if err != nil {
			return nil, err
		}
		if drawnHere.sets == nil {
			drawnHere.sets = map[string]*data.Dataset{}
		}
		drawnHere.sets[name] = d
	}
	d := *drawnHere.sets[name]
	return &d, nil
}

// TestScripts runs testdata/*.txtar: the program as a user runs it, without
// real data and without a network.
func TestScripts(t *testing.T) {
	list, err := os.ReadFile("testdata/keys/events.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata") // the working directory changes, see runHere
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/cache")
			env.Setenv("HTTPS_PROXY", "http://127.0.0.1:9") // nothing listens there: tests have no network
			env.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
			return os.WriteFile(filepath.Join(env.WorkDir, "events.txt"), list, 0o666)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":   checkJSON,
			"events": checkEvents,
			"npz":    writeArrays,
			"houses": writeHouses,
			"exit":   func(ts *testscript.TestScript, _ bool, args []string) { checkExit(ts, args) },
		},
	})
}

// checkJSON is "json FILE KEY… ": the file is one JSON value and nothing else,
// and has the dotted keys.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: json FILE [KEY…]")
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	if err := dec.Decode(&v); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	if dec.More() {
		ts.Fatalf("%s: text after the JSON value", args[0])
	}
	for _, key := range args[1:] {
		at := v
		for part := range strings.SplitSeq(key, ".") {
			if list, ok := at.([]any); ok && len(list) > 0 {
				at = list[0]
			}
			m, ok := at.(map[string]any)
			if !ok {
				ts.Fatalf("%s: nothing below %q of %q", args[0], part, key)
			}
			next, ok := m[part]
			if ok == neg {
				ts.Fatalf("%s: key %q present: %v", args[0], key, ok)
			}
			at = next
		}
	}
}

// checkExit is "exit STATUS ARGS…": the program, run with these arguments, wants that status.
func checkExit(ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exit STATUS ARG…")
	}
	got, ok := runHere(ts, args[1:])
	if !ok {
		got = "0"
		if err := ts.Exec("proactivedp", args[1:]...); err != nil {
			got = strings.TrimPrefix(err.Error(), "exit status ")
		}
	}
	if got != args[0] {
		ts.Fatalf("proactivedp %s: exit status %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// here is held by who uses the working directory and the environment of this process.
var here sync.Mutex

// runHere runs the program in this process, which saves the start of one: most commands of the
// scripts take less time than that. It returns false, and runs nothing, if the script has set what
// a process reads when it starts.
func runHere(ts *testscript.TestScript, args []string) (status string, ok bool) {
	for _, name := range []string{f32.EnvKernels, "GOMAXPROCS", "GOMEMLIMIT", "GOGC"} {
		if ts.Getenv(name) != os.Getenv(name) {
			return "", false
		}
	}
	here.Lock()
	defer here.Unlock()
	dir, err := os.Getwd()
	ts.Check(err)
	defer func() { ts.Check(os.Chdir(dir)) }()
	ts.Check(os.Chdir(ts.MkAbs(".")))
	for _, name := range []string{cli.DataEnv, "HOME", "XDG_CACHE_HOME", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY"} {
		value, set := os.LookupEnv(name)
		ts.Check(os.Setenv(name, ts.Getenv(name)))
		defer func() {
			if set {
				ts.Check(os.Setenv(name, value))
			} else {
				ts.Check(os.Unsetenv(name))
			}
		}()
	}
	return strconv.Itoa(run(cli.WithDraw(context.Background(), drawOnce), args, ts.Stdout(), ts.Stderr())), true
}
