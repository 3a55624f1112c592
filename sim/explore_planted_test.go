//go:build !race && !invariants

package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// planted are faults in the code of this package: text that is in a file once,
// what is there in its place, and the invariant that must be found broken.
var planted = []struct {
	name, file, from, to string
	want                 Invariant
}{
	{
		"the server applies an update again", "server.go",
		"if !p.add(int32(u.Round)) {", "if p.add(int32(u.Round)); false {", InvariantOnce,
	},
	{
		"the server broadcasts before a client's update is in", "server.go",
		"*s.waiting(s.k) == 0", "*s.waiting(s.k) <= 1", InvariantComplete,
	},
	{
		"the server does not see that a round is complete", "server.go",
		"for s.k < rounds &&", "if s.k < rounds &&", InvariantComplete,
	},
	{
		"Υ allows a round more", "delay.go",
		"k >= i-int(tau) }", "k >= i-int(tau)-1 }", InvariantPermitted,
	},
	{
		"Υ allows a round less", "delay.go",
		"k >= i-int(tau) }", "k > i-int(tau) }", InvariantWakeUp,
	},
	{
		"a client is not woken by a broadcast", "events.go",
		"		return err\n\t}\n\tv.begin(c)\n", "		return err\n\t}\n", InvariantWakeUp,
	},
	{
		"one client of all is not woken by a broadcast", "events.go",
		"		return err\n\t}\n\tv.begin(c)\n", "		return err\n\t}\n\tif c.id != 1 {\n\t\tv.begin(c)\n\t}\n",
		InvariantWakeUp,
	},
	{
		"a client that returns is not woken", "presence.go",
		"	}\n\tv.begin(c)\n", "	}\n", InvariantWakeUp,
	},
	{
		"a client that returns is not sent the newest broadcast", "presence.go",
		"v.send(&event{client: uint32(c.id), kind: broadcastArrives, number: int32(k), vector: newest})", "",
		InvariantNoDeadlock,
	},
	{
		"a client that leaves goes on computing", "presence.go",
		"		v.abort(c)\n", "", InvariantAbsent,
	},
	{
		"a client that leaves takes its lost messages along", "presence.go",
		"	v.turn(c, clientReturns, v.cfg.Churn.Away)\n",
		"	v.turn(c, clientReturns, v.cfg.Churn.Away)\n\tv.agenda.remove(func(e event) bool { return e.kind == " +
			"updateResent && int(e.client) == c.id })\n", InvariantNoDeadlock,
	},
	{
		"a round that is given up is entered", "client.go",
		"	if s.newer != nil {\n\t\ts.replace(s.newer, c.letGo)\n\t\ts.newer = nil\n\t}\n\ts.busy = false\n",
		"	s.ledger.Record(c.mech.EventOf(s.size))\n\ts.busy = false\n", InvariantLedgers,
	},
	{
		"a lost message is not sent again", "messages.go",
		"		e.kind = broadcastArrives\n\t}\n\tv.send(e)\n",
		"		e.kind = broadcastArrives\n\t}\n\tv.vectors.put(e.vector)\n", InvariantNoDeadlock,
	},
	{
		"a doubled message has one reader", "messages.go",
		"if e.vector.readers++; v.cfg", "if v.cfg", InvariantReaders,
	},
	{
		"a broadcast is not sent", "events.go",
		"if broadcast {", "if broadcast && v.server.Done() {", InvariantNoDeadlock,
	},
	{
		"an update arrives for ever", "events.go",
		"		v.vectors.put(e.vector)\n\t\tif broadcast {", "		v.agenda.enter(e)\n\t\tif broadcast {",
		InvariantTermination,
	},
	{
		"a client takes an older broadcast", "client.go",
		"case k <= s.k:", "case k == s.k:", InvariantNewest,
	},
	{
		"a client takes a broadcast again", "client.go",
		"case k <= s.k:", "case k < s.k:", InvariantLocal,
	},
	{
		"a client switches to a broadcast in mid-round", "client.go",
		"case !s.busy:", "case true:", InvariantLocal,
	},
	{
		"ŵ loses the round's step", "client.go",
		"f32.AxpyTo(s.own, -c.sched.eta(s.i), u, w)", "f32.AxpyTo(s.own, 0, u, w)", InvariantLocal,
	},
	{
		"a round is entered twice", "client.go",
		"s.ledger.Record(c.mech.EventOf(s.size))",
		"s.ledger.Record(c.mech.EventOf(s.size))\n\ts.ledger.Record(c.mech.EventOf(s.size))", InvariantLedgers,
	},
	{
		"a client does as many rounds as the others", "client.go",
		"return c.state.i == c.sched.rounds", "return c.state.i == c.rounds", InvariantNoFailure,
	},
	{
		"a client refuses broadcasts that come during a long round", "client.go",
		"if most := c.sched.ends(s.i); k < 0", "if most := s.i; k < 0", InvariantNoFailure,
	},
	{
		"the server waits for the end of a long round from its beginning", "steps.go",
		"return s.begins(i+1) - 1", "return s.begins(i)", InvariantComplete,
	},
	{
		"the server does not wait for the end of a long round", "steps.go",
		"return s.begins(i+1) - 1", "return s.begins(i + 1)", InvariantComplete,
	},
	{
		"the server waits for a client that is done", "steps.go",
		"		return s.most\n", "		return s.begins(i - 1)\n", InvariantComplete,
	},
	{
		"staleness is measured at the end of the round", "client.go",
		"	s.lag = max(0, c.sched.begins(s.i)-s.k)\n", "", InvariantMeasured,
	},
}

// The smallest explorations find every fault that is planted in the real code, and name it correctly.
//
// Each fault is in a copy of the package that only this build has. All copies are in one program, so that
// they are linked once. Its argument is the number of the fault.
func TestPlantedFaultsAreFound(t *testing.T) {
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// once is the text of a file in which one text is replaced, which must be there once.
	once := func(file, from, to string) string {
		source, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), from); n != 1 {
			t.Fatalf("%q is in %s %d times, must be once", from, file, n)
		}
		return strings.Replace(string(source), from, to, 1)
	}
	// A program has each flag once.
	exploration := write("exploration.go", once("explore_test.go", "flag.Int(", "new(flag.FlagSet).Int("))
	replace := map[string]string{}
	var imports, tests strings.Builder
	for i, p := range planted {
		name := fmt.Sprintf("planted%02d", i)
		for _, file := range files {
			base := filepath.Base(file)
			test := strings.HasSuffix(base, "_test.go")
			switch {
			case base == "explore_test.go":
				file = exploration
			case base == p.file:
				file = write(name+".go", once(base, p.from, p.to))
			case test && (!strings.HasPrefix(base, "explore") || base == "explore_planted_test.go"):
				continue
			}
			replace[filepath.Join(folder, "planted", name, strings.Replace(base, "_test.go", ".go", 1))] = file
		}
		fmt.Fprintf(&imports, "import %s %q\n", name, "proactivedp/sim/planted/"+name)
		fmt.Fprintf(&tests, "%s.TestExploration, ", name)
	}
	replace[filepath.Join(folder, "planted", "main.go")] = write("main.go", `package main

import (
	"os"
	"strconv"
	"testing"
)

`+imports.String()+`
func main() {
	number, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	os.Args = os.Args[:1]
	tests := []func(*testing.T){`+tests.String()+`}
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestExploration", F: tests[number]}}, nil, nil)
}
`)
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "planted.exe")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", write("overlay.json", string(overlay)), "-o", program,
		"./planted").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			out, err := exec.Command(program, strconv.Itoa(i)).CombinedOutput()
			if err == nil {
				t.Fatalf("not found:\n%s", out)
			}
			t.Log(string(out))
			if !strings.Contains(string(out), string(p.want)) {
				t.Errorf("found as\n%s\nwant %q", out, p.want)
			}
		})
	}
}
