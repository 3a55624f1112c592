package machines

import (
	"strings"
	"testing"
)

// A map of all the run's labels to other classes would have the client train against the others.
// Labels of another set may mean what the map says: 1 and 2 of a file may be the run's 0 and 1.
func TestALabelMapAgainstTheRunIsRefused(t *testing.T) {
	for _, c := range []struct {
		run  []string
		own  string
		want string
	}{
		{[]string{"no", "yes"}, "yes,no", "--label-map gives label no the class 1, in the run it is 0"},
		{[]string{"no", "yes"}, "no=1,yes=0", "--label-map gives label yes the class 0, in the run it is 1"},
		{[]string{"0", "1"}, "1,0.0", "label 0 the class 1"},
		{[]string{"no", "yes"}, "no,yes", ""},
		{[]string{"0", "1"}, "1=0,2=1", ""},
		{[]string{"no", "yes"}, "healthy=0,*=1", ""},                 // the file has other labels
		{[]string{"no", "yes"}, "yes=0,*=1", "label no the class 1"}, // * would stand for the run's "no"
		{[]string{"no", "yes"}, "no=1,yes=0,*=1", "label yes the class 0"},
		{[]string{"0", "1"}, "", ""},
	} {
		var j joinFlags
		j.where.Own.LabelMap = c.own
		if err := j.checkMap(c.run); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("run %v, map %s: %v, want %q", c.run, c.own, err, c.want)
		}
	}
}
