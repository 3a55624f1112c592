//go:build !race && !invariants

package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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
		"s.at[s.k] == 0", "s.at[s.k] <= 1", InvariantComplete,
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
		"f32.AxpyTo(s.own, -c.sched.eta[s.i], u, w)", "f32.AxpyTo(s.own, 0, u, w)", InvariantLocal,
	},
	{
		"a round is entered twice", "client.go",
		"s.ledger.Record(c.mech.EventOf(s.size))",
		"s.ledger.Record(c.mech.EventOf(s.size))\n\ts.ledger.Record(c.mech.EventOf(s.size))", InvariantLedgers,
	},
	{
		"staleness is measured at the end of the round", "client.go",
		"	s.lag = s.i - s.k\n", "", InvariantMeasured,
	},
}

// Every fault planted in the real code is found by the smallest explorations, as what it is.
func TestPlantedFaultsAreFound(t *testing.T) {
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
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
			dir := t.TempDir()
			faulty, overlay := filepath.Join(dir, p.file), filepath.Join(dir, "overlay.json")
			replace := map[string]string{file: faulty}
			for _, test := range tests {
				if !strings.HasPrefix(filepath.Base(test), "explore") {
					replace[test] = "" // it is not compiled
				}
			}
			replaced, err := json.Marshal(map[string]any{"Replace": replace})
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{
				faulty: strings.Replace(string(source), p.from, p.to, 1), overlay: string(replaced),
			} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command("go", "test", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-run",
				"^TestExploration$", ".").CombinedOutput()
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
