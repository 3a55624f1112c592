package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"proactivedp": main})
}

// TestScripts runs testdata/*.txtar: the program as a user runs it, without
// real data and without a network.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/cache")
			env.Setenv("HTTPS_PROXY", "http://127.0.0.1:9") // nothing listens there: tests have no network
			env.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
			list, err := os.ReadFile("testdata/keys/events.txt")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, "events.txt"), list, 0o666)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":   checkJSON,
			"events": checkEvents,
			"npz":    writeArrays,
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

// checkExit is "exit STATUS ARGS…": runs the program and wants that status.
func checkExit(ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exit STATUS ARG…")
	}
	err := ts.Exec("proactivedp", args[1:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("proactivedp %s: exit status %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}
