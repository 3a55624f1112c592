package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"proactivedp/internal/decimal"
)

// planner is one that is not run: pages are made of it like of any other.
func planner() Planner {
	return Planner{Wasm: []byte("\x00asm"), Loader: []byte("// loader"), Version: "v<1>", Licences: []byte("MIT & BSD")}
}

// The page is one file: nothing in it leads to another host or file, its policy names the
// digests of its own style and scripts, and it is made the same twice.
func TestPageStandsAlone(t *testing.T) {
	page, err := Page(planner())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Page(planner())
	if err != nil || !bytes.Equal(page, again) {
		t.Errorf("made again it is another page: %v", err)
	}
	text := string(page)
	leads := regexp.MustCompile(`(?i)\b(?:src|href|action)\s*=\s*["']([^"']*)`)
	for _, m := range leads.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "#") && !strings.HasPrefix(m[1], "data:") {
			t.Errorf("the page leads to %q", m[1])
		}
	}
	for _, digest := range []string{digest(pageScript()), digest(read(chartScript)), digest(read("page.css"))} {
		if !strings.Contains(text, "&#39;"+strings.Trim(digest, "'")+"&#39;") && !strings.Contains(text, digest) {
			t.Errorf("the policy has no %s", digest)
		}
	}
	magic := base64.StdEncoding.EncodeToString([]byte{0x1f, 0x8b, 8}) // of gzip
	for _, want := range []string{"default-src &#39;none&#39;", `id="planner-wasm">` + magic,
		"proactivedp v&lt;1&gt;", "MIT & BSD", "<noscript>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if got := PageVersion(page); got != "v<1>" {
		t.Errorf("the page is of version %q", got)
	}
	if got := PageVersion([]byte("<html>")); got != "" {
		t.Errorf("another page is of version %q", got)
	}
	for _, bad := range []Planner{{Licences: []byte("a </script b")}, {Loader: []byte("<!-- x")}} {
		if _, err := Page(bad); err == nil {
			t.Errorf("a page of %+v", bad)
		}
	}
}

// The page has the licences of what it is made of, and of nothing that the program alone is.
func TestPlannerCarriesItsLicences(t *testing.T) {
	text, err := licences(t.Context(), "..")
	if err != nil {
		t.Fatal(err)
	}
	for what, there := range map[string]bool{"MIT License": true, "\n======== Go's standard library\n": true,
		"\n======== gonum.org/v1/gonum v": true, "\n======== golang.org/x/sys v": true, "nats-io": false,
		"spf13/cobra": false} {
		if strings.Contains(string(text), what) != there {
			t.Errorf("%q is in the licences: %v", what, !there)
		}
	}
}

// The packages that are compiled without inlining are in the planner. Go ignores a name that is not.
func TestTextsAreInThePlanner(t *testing.T) {
	out, err := tool(t.Context(), ".", "list", "-deps", "./internal/planner").Output()
	if err != nil {
		t.Fatal(err)
	}
	there := strings.Fields(string(out))
	for _, name := range texts {
		if !slices.Contains(there, name) {
			t.Errorf("%s is not in the planner", name)
		}
	}
}

// What others wrote is in the page with its licences: every package that the bundle names.
func TestChartsCarryTheirLicences(t *testing.T) {
	banner, _, found := strings.Cut(read(chartScript), "*/")
	names := regexp.MustCompile(`(?m)^---- (\S+) (\S+) \((.+)\)$`).FindAllStringSubmatch(banner, -1)
	if !found || len(names) < 5 {
		t.Fatalf("%d packages are named", len(names))
	}
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	text, err := os.ReadFile("npm/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if locked := lock.Packages["node_modules/"+n[1]].Version; locked != n[2] {
			t.Errorf("%s %s is in the bundle, %q is locked", n[1], n[2], locked)
		}
		if n[3] != "ISC" && n[3] != "MIT" && n[3] != "BSD-3-Clause" {
			t.Errorf("%s has the licence %s", n[1], n[3])
		}
	}
	if count := strings.Count(banner, "Permission to use"); count < len(names) {
		t.Errorf("%d texts of %d licences", count, len(names))
	}
}

// The page rounds bounds as package decimal does: not below, or not above what was
// computed, and to the same digits.
func TestNumbersAreRoundedAsHere(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	type number struct {
		V        float64 `json:"v"`
		Digits   int     `json:"digits"`
		Up, Down float64
	}
	draw := rand.New(rand.NewPCG(1, 2))
	var all []number
	for i := range 4000 {
		v := math.Exp(draw.Float64()*60 - 40)
		switch i % 4 {
		case 1:
			v = math.Round(v * 1e6)
		case 2:
			v = math.Pow(10, float64(draw.IntN(20)-10)) * float64(draw.IntN(1000)) / 1000
		case 3:
			v = math.Nextafter(v, 0)
		}
		digits := 1 + draw.IntN(8)
		n := number{V: v, Digits: digits}
		for side, text := range map[*float64]string{&n.Up: decimal.Up(v, digits), &n.Down: decimal.Down(v, digits)} {
			if err := json.Unmarshal([]byte(text), side); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, n)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	script := read("numbers.js") + `
const back = (text) => Number(text.replace(/,/g, ""));
let wrong = 0;
for (const n of JSON.parse(require("fs").readFileSync(0, "utf8"))) {
  const u = back(up(n.v, n.digits)), d = back(down(n.v, n.digits));
  const near = (a, b) => Math.abs(a - b) <= 1e-12 * Math.abs(b);
  if (u >= n.v && d <= n.v && near(u, n.Up) && near(d, n.Down)) continue;
  wrong++;
  if (wrong < 9) console.log(n, up(n.v, n.digits), down(n.v, n.digits));
}
const read = { "1e-5": 1e-5, "60,000.0": 60000, " .5 ": 0.5, "1_000": 1000, "5.": 5, "-2E3": -2000,
  "1,234,567.5": 1234567.5, "60 000": 60000 };
for (const [text, v] of Object.entries(read)) {
  if (numberOf(text) !== v) { wrong++; console.log(text, numberOf(text)); }
}
for (const text of ["", "x", "1e", "0x10", "1,00", "--1", "1 e5x", "Infinity", "0,125", "0,150", "1,5", "1.2,345",
  "1e1,000", "1234,567", "1,234,56", "1,125", "-60,000"]) {
  if (!Number.isNaN(numberOf(text))) { wrong++; console.log(text, numberOf(text)); }
}
if (numberOf("60,000", true) !== 60000 || numberOf("6,1", true) === 61) { wrong++; console.log("whole numbers"); }
for (const [share, above, below] of [[0.05, "5", "5"], [0.00015, "0.02", "0.01"], [0.051234, "5.13", "5.12"],
  [0.9999999, "100", "99.99"], [1, "100", "100"], [0, "0", "0"]]) {
  if (inHundred(share) !== above || inHundredDown(share) !== below) {
    wrong++;
    console.log(share, inHundred(share), inHundredDown(share));
  }
}
for (const [share, below, above] of [[0.9204, "0.920", "0.921"], [0.9206, "0.920", "0.921"], [0.5, "0.500", "0.500"],
  [0.99951, "0.999", "1.000"], [0.0004, "0.000", "0.001"], [0, "0.000", "0.000"], [1, "1.000", "1.000"]]) {
  const percent = (text) => (Number(text) * 100).toFixed(1);
  if (decimals(share, 3, -1) !== below || decimals(share, 3, 1) !== above || tenths(share, -1) !== percent(below) ||
    tenths(share, 1) !== percent(above)) { wrong++; console.log(share, decimals(share, 3, -1), decimals(share, 3, 1)); }
}
for (const [slack, text] of [[1.506, "+150 %"], [0.99999, "+99.99 %"], [1, "+100 %"], [-1.506, "−151 %"],
  [0.01239, "+1.23 %"], [-0.01231, "−1.24 %"], [0, "+0.00 %"], [20, "> +999 %"]]) {
  if (inPercent(slack) !== text) { wrong++; console.log(slack, inPercent(slack)); }
}
console.log("wrong", wrong);
`
	command := exec.Command(node, "-e", script)
	command.Stdin = bytes.NewReader(text)
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "wrong 0") {
		t.Errorf("%v: %s", err, out)
	}
}

// A link gives the question back, every field of it; what it cannot say is refused and not
// taken for what is usual, and whoever says anything of sharing is planned for as shared.
func TestLinksKeepTheQuestion(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	script := read("numbers.js") + read("question.js") + `
let wrong = 0;
const differ = (what, got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) { wrong++; console.log(what, got, "want", want); }
};
const typed = { n: "8,844", epochs: "2.5", epsilon: "0.3", sigma: "7.25", sample_size: "33", rounds: "1e3",
  target_accuracy: "0.9", delta: "1e-6", clients: "5", shared: "1", theta: "1.5", data: "mushrooms", tab: "latex" };
for (const question of Object.keys(questions)) {
  const asked = { ...starting, ...typed, question, method: "pld", adjacency: "replace-one" };
  const again = stateOf(addressOf(asked));
  differ(question, requestOf(again), requestOf(asked));
  differ(question + ": tab", again.tab, "latex");
  if (question === "accuracy") differ("data", again.data, "mushrooms");
}
const long = requestOf(stateOf("question=noise&n=1000&sigma=0." + "0".repeat(60) + "1"));
differ("a long number", [long.request.sigma, Object.keys(long.wrong)], [undefined, ["sigma"]]);
const strange = { question: "noise2", method: "PLD", adjacency: "replace_one" };
for (const [name, value] of Object.entries(strange)) {
  const kept = stateOf(addressOf(stateOf(name + "=" + value)));
  differ(name, [kept[name], Object.keys(requestOf(kept).wrong)], [value, [name]]);
}
differ("shared", requestOf(stateOf("question=budget&clients=5&shared=true")).request.shared, true);
differ("names of no field", stateOf("toString=1&__proto__=2&keep=3"), starting);
const comma = requestOf(stateOf("question=run&sigma=1,125&n=60,000"));
differ("a comma", [comma.request.sigma, comma.request.n, /not a comma/.test(comma.wrong.sigma)],
  [undefined, 60000, true]);
const longer = addressOf({ ...starting, question: "batch", ...Object.fromEntries(
  fieldsOf({ question: "batch" }).map((name) => [name, "1" + ",".repeat(longest - 1)])) });
differ("a long plan that is kept", keptOf("keep=" + encodeURIComponent(longer)), [longer]);
console.log("wrong", wrong);
`
	out, err := exec.Command(node, "-e", script).CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "wrong 0") {
		t.Errorf("%v: %s", err, out)
	}
}
