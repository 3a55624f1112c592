package pool

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/presets.json anew")

// The committed results are of these settings: testdata/presets.json has every number of them.
func TestPresetsAreThoseOfTheResults(t *testing.T) {
	const file = "testdata/presets.json"
	got, err := json.MarshalIndent(Experiments(), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the presets are not those of %s: if that is meant, run the test with -update, and make the results "+
			"of the settings that have changed again", file)
	}
}
