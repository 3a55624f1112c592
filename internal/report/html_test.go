package report

import "testing"

func TestReachable(t *testing.T) {
	got := Reachable("<table>\n<th align=\"right\"></th><th>a</th></table><pre><code>x</code></pre><table></table>",
		`a "b"`)
	want := "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"a &#34;b&#34;, table 1\"><table>\n" +
		"<td align=\"right\"></td><th>a</th></table></div><pre tabindex=\"0\"><code>x</code></pre>" +
		"<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"a &#34;b&#34;, table 2\"><table></table></div>"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnchor(t *testing.T) {
	for heading, want := range map[string]string{
		"One: two?": "one-two", " σ and x_y ": "σ-and-x_y", "A – B": "a--b",
		"CIFAR-10 at a twentieth": "cifar-10-at-a-twentieth",
	} {
		if got := Anchor(heading); got != want {
			t.Errorf("%q: %q, want %q", heading, got, want)
		}
	}
}
