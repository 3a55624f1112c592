package main

import (
	"context"
	"strings"
	"testing"
)

// What an interrupted training tells to go on with is a command that can be run: it has the
// flags that no checkpoint holds, by which a file is read and the model saved, and no others.
func TestHintGoesOnAsItWasAsked(t *testing.T) {
	const goOn = "continue with proactivedp train --resume "
	for _, c := range []struct{ args, want string }{
		{"train --checkpoint run.ck --sigma 3 --clients 2", goOn + "run.ck"},
		{"train --checkpoint run.ck --data my.csv --label-column class --label-map no,yes --columns c.csv --save m",
			goOn + "run.ck --label-column class --label-map no,yes --columns c.csv --save m"},
		{"train --resume run.ck --data there/my.csv --label-column class --label-map 0..9 --json",
			goOn + "run.ck --label-column class --label-map 0..9 --json --data there/my.csv"},
		{"train --checkpoint a'b --data-dir /d --checkpoint-key k", goOn + `'a'\''b' --data-dir /d --checkpoint-key k`},
		{"train --sigma 3", "with --checkpoint FILE"},
		// Where a checkpoint is refused it is not what helps.
		{"train --seed-from-os", "auto --seed-from-os --dir FOLDER"},
		{"train --clients 3 --listen 127.0.0.1:4222 --dir server", "the same command continues"},
		{"host --clients 3 --listen 127.0.0.1:4222 --dir server", "the same command continues"},
		{"auto --epsilon 1 --dir run", "the same command continues"},
		{"auto --epsilon 1", "with --dir FOLDER the same command continues"},
		// What is kept where --out is given, or always.
		{"train --seeds 3 --out curve", "the same command continues"},
		{"train --seeds 3", "with --out FOLDER finished runs are kept"},
		{"propose --epsilon 1 --out proposals", "the same command continues"},
		{"propose --epsilon 1", "with --out FOLDER finished runs are kept"},
		{"delay --out compared", "the same command continues"},
		{"delay", "with --out FOLDER finished runs are kept"},
		{"audit --out survey", "the same command continues"},
		{"figures", "the same command continues"},
		{"search", "the same command continues"},
		// Other commands keep nothing.
		{"audit", ""},
		{"utility --out graph", ""},
		{"predict my.model --data phishing --out labels.csv", ""},
		{"tables", ""},
	} {
		cmd, rest, err := newRoot().Find(strings.Fields(c.args))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		got := hint(cmd, context.Canceled, true)
		whole := c.want == "" || strings.HasPrefix(c.want, goOn)
		if !strings.Contains(got, c.want) || whole && got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.args, got, c.want)
		}
	}
}
