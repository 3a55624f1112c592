//go:build !race

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"proactivedp/sim"
)

// planted are faults in the code of package sim: text that is in a file once,
// what is there in its place, and the invariant that must be found broken.
var planted = []struct {
	name, file, from, to string
	want                 sim.Invariant
}{
	{
		"the server applies an update again", "server.go",
		"if !p.add(int32(u.Round)) {", "if p.add(int32(u.Round)); false {", sim.InvariantOnce,
	},
	{
		"the server broadcasts before a client's update is in", "server.go",
		"s.at[s.k] == 0", "s.at[s.k] <= 1", sim.InvariantComplete,
	},
	{
		"the server does not see that a round is complete", "server.go",
		"for s.k < rounds &&", "if s.k < rounds &&", sim.InvariantComplete,
	},
	{
		"Υ allows a round more", "delay.go",
		"k >= i-int(tau) }", "k >= i-int(tau)-1 }", sim.InvariantPermitted,
	},
	{
		"Υ allows a round less", "delay.go",
		"k >= i-int(tau) }", "k > i-int(tau) }", sim.InvariantWakeUp,
	},
	{
		"a client is not woken by a broadcast", "events.go",
		"		return err\n\t}\n\tv.begin(c)\n", "		return err\n\t}\n", sim.InvariantWakeUp,
	},
	{
		"one client of all is not woken by a broadcast", "events.go",
		"		return err\n\t}\n\tv.begin(c)\n", "		return err\n\t}\n\tif c.id != 1 {\n\t\tv.begin(c)\n\t}\n",
		sim.InvariantWakeUp,
	},
	{
		"a client that returns is not woken", "presence.go",
		"	}\n\tv.begin(c)\n", "	}\n", sim.InvariantWakeUp,
	},
	{
		"a client that returns is not sent the newest broadcast", "presence.go",
		"v.send(&event{client: uint32(c.id), kind: broadcastArrives, number: int32(k), vector: newest})", "",
		sim.InvariantNoDeadlock,
	},
	{
		"a client that leaves goes on computing", "presence.go",
		"		v.abort(c)\n", "", sim.InvariantAbsent,
	},
	{
		"a client that leaves takes its lost messages along", "presence.go",
		"	v.turn(c, clientReturns, v.cfg.Churn.Away)\n",
		"	v.turn(c, clientReturns, v.cfg.Churn.Away)\n\tv.agenda.remove(func(e event) bool { return e.kind == " +
			"updateResent && int(e.client) == c.id })\n", sim.InvariantNoDeadlock,
	},
	{
		"a round that is given up is entered", "client.go",
		"	if s.newer != nil {\n\t\ts.replace(s.newer, c.letGo)\n\t\ts.newer = nil\n\t}\n\ts.busy = false\n",
		"	s.ledger.Record(c.mech.EventOf(s.size))\n\ts.busy = false\n", sim.InvariantLedgers,
	},
	{
		"a lost message is not sent again", "messages.go",
		"		e.kind = broadcastArrives\n\t}\n\tv.send(e)\n",
		"		e.kind = broadcastArrives\n\t}\n\tv.vectors.put(e.vector)\n", sim.InvariantNoDeadlock,
	},
	{
		"a doubled message has one reader", "messages.go",
		"if e.vector.readers++; v.cfg", "if v.cfg", sim.InvariantReaders,
	},
	{
		"a broadcast is not sent", "events.go",
		"if broadcast {", "if broadcast && v.server.Done() {", sim.InvariantNoDeadlock,
	},
	{
		"an update arrives for ever", "events.go",
		"		v.vectors.put(e.vector)\n\t\tif broadcast {", "		v.agenda.enter(e)\n\t\tif broadcast {",
		sim.InvariantTermination,
	},
	{
		"a client takes an older broadcast", "client.go",
		"case k <= s.k:", "case k == s.k:", sim.InvariantNewest,
	},
	{
		"a client takes a broadcast again", "client.go",
		"case k <= s.k:", "case k < s.k:", sim.InvariantLocal,
	},
	{
		"a client switches to a broadcast in mid-round", "client.go",
		"case !s.busy:", "case true:", sim.InvariantLocal,
	},
	{
		"ŵ loses the round's step", "client.go",
		"f32.AxpyTo(s.own, -c.sched.eta[s.i], u, w)", "f32.AxpyTo(s.own, 0, u, w)", sim.InvariantLocal,
	},
	{
		"a round is entered twice", "client.go",
		"s.ledger.Record(c.mech.EventOf(s.size))",
		"s.ledger.Record(c.mech.EventOf(s.size))\n\ts.ledger.Record(c.mech.EventOf(s.size))", sim.InvariantLedgers,
	},
	{
		"staleness is measured at the end of the round", "client.go",
		"	s.lag = s.i - s.k\n", "", sim.InvariantMeasured,
	},
}

// Every fault planted in the real code is found, as what it is.
func TestPlantedFaultsAreFound(t *testing.T) {
	folder, err := filepath.Abs(filepath.Join("..", "..", "sim"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(folder, p.file)
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), p.from); n != 1 {
				t.Fatalf("%q is in %s %d times, must be once", p.from, p.file, n)
			}
			faulty := filepath.Join(t.TempDir(), p.file)
			if err := os.WriteFile(faulty, []byte(strings.Replace(string(source), p.from, p.to, 1)),
				0o600); err != nil {
				t.Fatal(err)
			}
			out, err := explore(t, map[string]string{file: faulty})
			if err == nil {
				t.Fatalf("not found:\n%s", out)
			}
			t.Log(out)
			if !strings.Contains(out, string(p.want)) {
				t.Errorf("found as\n%s\nwant %q", out, p.want)
			}
		})
	}
}

// explore builds the command with some files replaced, and runs it.
func explore(t *testing.T, replaced map[string]string) (output string, err error) {
	t.Helper()
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, command := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "explore")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", file, "-o", command,
		".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out, err := exec.Command(command, "-short").CombinedOutput()
	return string(out), err
}
