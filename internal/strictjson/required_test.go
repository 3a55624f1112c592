package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

type inner struct {
	N int `json:"n"`
}

type embedded struct {
	Run string `json:"run"`
}

type record struct {
	embedded
	Client  int     `json:"client"`
	Done    bool    `json:"done"`
	Lags    []int   `json:"lags"`
	Parts   []inner `json:"parts"`
	Of      inner   `json:"of"`
	Perhaps *inner  `json:"perhaps,omitempty"`
	Note    string  `json:"note,omitempty"`
	Kept    int     `json:"-"`
}

// What this program writes is read, and a value that lacks anything of it is not taken for one of
// zeros.
func TestDecodeWhole(t *testing.T) {
	written, err := json.Marshal(record{})
	if err != nil {
		t.Fatal(err)
	}
	full := `{"run":"r","client":1,"done":false,"lags":null,"parts":[{"n":1}],"of":{"n":0},"perhaps":{"n":1},"note":""}`
	for _, text := range []string{string(written), full, strings.Replace(full, `"client"`, `"CLIENT"`, 1)} {
		if err := DecodeWhole([]byte(text), new(record), 10); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"null": "the value is null", "{}": "run is missing",
		strings.Replace(full, `"client":1,`, "", 1):                   "client is missing",
		strings.Replace(full, `"client":1`, `"client":null`, 1):       "client is null",
		strings.Replace(full, `"done":false`, `"done":null`, 1):       "done is null",
		strings.Replace(full, `[{"n":1}]`, `[{"n":1},{}]`, 1):         "parts[1].n is missing",
		strings.Replace(full, `[{"n":1}]`, `[null]`, 1):               "parts[0] is null",
		strings.Replace(full, `"of":{"n":0}`, `"of":{"n":null}`, 1):   "of.n is null",
		strings.Replace(full, `"perhaps":{"n":1}`, `"perhaps":{}`, 1): "perhaps.n is missing",
		strings.Replace(full, `"lags":null,`, "", 1):                  "lags is missing",
		strings.Replace(full, `"run":"r"`, `"run":"12345678901"`, 1):  "run has 11 bytes",
		strings.Replace(full, `"note":""`, `"note":"two\nlines"`, 1):  "note = ",
		strings.Replace(full, `"run":"r"`, `"run":"\u001b[2J"`, 1):    "run = ",
		strings.Replace(full, `"note":""`, `"note":null`, 1):          "note is null",
	} {
		if err := DecodeWhole([]byte(text), new(record), 10); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
