package message

import "testing"

func TestWhen(t *testing.T) {
	if said := When(true, " (t = %d)", 3); said != " (t = 3)" {
		t.Errorf("true: %q", said)
	}
	if said := When(false, " (t = %d)", 3); said != "" {
		t.Errorf("false: %q", said)
	}
}
