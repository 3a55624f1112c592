package propose

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/dp"
	"proactivedp/dp/pld"
	"proactivedp/rng"
	"proactivedp/train"
)

// forPersons is a request for persons with up to three records of a data set in which they have 1 to 7.
func forPersons() (Request, Options) {
	r, o := request(), options(2)
	d := *o.Data.Data()
	d.Name, d.Person = "visits", make([]data.PersonKey, d.Len())
	for i := range d.Person {
		d.Person[i] = data.PersonOf(fmt.Sprint(i * i / 7 % 300))
	}
	o.Data, o.Probe, o.Probing = train.NewSource(&d), train.NewSource(synth.OneHot(rng.New(4), 800)), Other
	r.Base.AtMost, r.Base.Split, r.Epsilon = 3, train.RecordSplit, 2
	return r, o
}

// The accountant certifies ε for a person for the rounds that each setting runs. A single record costs
// less. Proxies run on other data, which have no column of persons.
func TestProposalsForPersons(t *testing.T) {
	r, o := forPersons()
	report := propose(t, r, o)
	specs, epsilons := []train.Spec{}, []float64{}
	for _, p := range report.Proposals {
		specs, epsilons = append(specs, p.Setting), append(epsilons, r.Epsilon)
	}
	for _, p := range report.Frontier {
		specs, epsilons = append(specs, p.Setting), append(epsilons, p.Epsilon)
	}
	if len(specs) < 4 {
		t.Fatalf("%d settings", len(specs))
	}
	for i, s := range specs {
		p, err := o.Data.Prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		events, err := dp.Times(p.Config.PlannedEvents(0), s.Clients)
		if err != nil {
			t.Fatal(err)
		}
		b, err := pld.Accountant{}.Epsilon(t.Context(), events, p.Delta)
		if err != nil || events[0].Group != 3 || !(b.EpsilonUpper <= epsilons[i]) || b.EpsilonUpper < 0.98*epsilons[i] {
			t.Errorf("ε in [%v, %v] of %+v, want just below %v: %v", b.EpsilonLower, b.EpsilonUpper, events, epsilons[i], err)
		}
		if err := p.Config.Rows[0].CheckPersons(3); err != nil || p.Config.Mechanism.DatasetSize != report.Records {
			t.Errorf("%d records of %d: %v", p.Config.Mechanism.DatasetSize, report.Records, err)
		}
		for j := range events {
			events[j].Group = 0
		}
		if record, err := (pld.Accountant{}).Epsilon(t.Context(), events, p.Delta); err != nil || !(record.EpsilonUpper < 0.6*b.EpsilonLower) {
			t.Errorf("a record pays %v, a person %v: %v", record.EpsilonUpper, b.EpsilonLower, err)
		}
	}
	if c := report.Proposals[0].Certified; report.Group != 3 || c.PerRecord.Group != 3 || c.PerClient.Group != 3 {
		t.Errorf("report of group %d, claims %+v", report.Group, c)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || strings.Count(text.String(), "for a person with up to 3 records") != 2 ||
		strings.Contains(text.String(), "a record") || strings.Contains(text.String(), "ε record") {
		t.Errorf("%s, %v", text.String(), err)
	}
	file, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	setting, err := train.ReadSetting(file, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Data.Prepare(setting.Over(train.DefaultSpec()))
	if err != nil || setting.Fits(t.Context(), p) != nil || p.Spec.AtMost != 3 {
		t.Errorf("train with the proposal: %v, %v", err, setting.Fits(t.Context(), p))
	}
}

// Private probing and comparisons with a grid are refused for persons, because the bound of private
// selection and the text about the grid are for single records.
func TestPrivateProbesRefusePersons(t *testing.T) {
	r, o := forPersons()
	o.Probe, o.Probing = o.Data, Private
	if _, err := Propose(t.Context(), r, o); err == nil || !strings.Contains(err.Error(), "private selection is for a record") {
		t.Error(err)
	}
}
