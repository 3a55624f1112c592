package auto

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"proactivedp/data"
)

// Any text is either refused, or read as a list of wishes that are all in their ranges. If such a list is
// written to a file and read again, the result is the same.
func FuzzParseClients(f *testing.F) {
	for _, text := range []string{
		`[{"epsilon": 0.5, "target_accuracy": 0.9}]`,
		`[{"epsilon": 1, "delta": 1e-5, "target_accuracy": 1, "records": 1000},
			{"epsilon": 1e4, "target_accuracy": 0.1}]`,
		`[]`, `{}`, `null`, `[null]`, `[{"epsilon": 1e999}]`, `[{"epsilon": 1, "target_accuracy": 0.5, "sigma": 2}]`,
		`[{"epsilon": 1, "target_accuracy": 0.5}] []`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseClients(text)
		if err != nil {
			return
		}
		for _, c := range all {
			if errs := c.check(); len(errs) > 0 {
				t.Fatalf("%q gives %+v: %v", text, c, errs)
			}
		}
		written, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseClients(written); err != nil || len(again) != len(all) {
			t.Fatalf("%s: read again: %+v, %v", written, again, err)
		}
	})
}

// A file that has two budgets for one client is refused. Otherwise only the last one would count.
func TestClientsFileRefusesRepeats(t *testing.T) {
	_, err := parseClients([]byte(`[{"epsilon": 0.5, "target_accuracy": 0.9, "epsilon": 5}]`))
	if err == nil || !strings.Contains(err.Error(), "occurs twice") {
		t.Errorf("%v, must refuse the second budget", err)
	}
}

// Any text of a journal is either refused, or read as rounds that can be charged to its ledgers. Nothing
// panics. The test adds the seal (checksum), because a text without the right one is always refused.
func FuzzParseJournal(f *testing.F) {
	dir := f.TempDir()
	task := taskOf(Tight, data.Shard, Client{Epsilon: 1, Accuracy: 0.9}, Client{Epsilon: 2, Accuracy: 0.8})
	if _, err := Run(f.Context(), task, optionsOf(dir, task, 3000, &fake{clients: 2, judge: never})); err != nil {
		f.Fatal(err)
	}
	j, err := readJournal(dir)
	if err != nil {
		f.Fatal(err)
	}
	whole, err := json.Marshal(j)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(bytes.Replace(whole, []byte(`"run":1`), []byte(`"run":2`), 1))
	f.Add(bytes.Replace(whole, []byte(`"sigma":`), []byte(`"sigma":-`), 1))
	f.Add([]byte(`{"tasks":[{}],"accounts":[{}],"stages":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		sealedText, err := json.Marshal(sealed{journalVersion, digest(compacted(text)), compacted(text)})
		if err != nil {
			return // no JSON
		}
		j, err := parseJournal(sealedText)
		if err != nil {
			return
		}
		ledgers, err := j.ledgers(t.Context())
		if err != nil {
			return
		}
		for _, l := range ledgers {
			if used, err := l.used(t.Context()); err != nil || used > 1+dust {
				t.Fatalf("%v of the budget of clients %v is spent (%v): %s", used, l.Clients, err, text)
			}
		}
	})
}

// compacted returns JSON as a journal's digest is of it; text that is none comes back.
func compacted(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
