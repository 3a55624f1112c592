package propose

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Probing says what proxies look at, and so what a proposal gives away.
type Probing string

// What proxies look at.
const (
	// Own is the data itself, without noise to speak of: it has to be public.
	Own Probing = "own"
	// Other is public or drawn data in the place of the data, of which only the number of
	// records, features and classes is used.
	Other Probing = "other"
	// Private is the data itself, by private selection: each trial is a private training
	// and what it costs is a part of the target epsilon.
	Private Probing = "private"
)

// checkProbing reports sources that are missing, and a probing that is none of those given, or is
// not what the sources are: what is said of the records that were looked at rests on it.
func (o Options) checkProbing(allowed ...Probing) error {
	if o.Data == nil || o.Probe == nil {
		return errors.New("data and probe, the sources that are trained on and probed, must both be given")
	}
	if !slices.Contains(allowed, o.Probing) {
		names := make([]string, len(allowed))
		for i, p := range allowed {
			names[i] = strconv.Quote(string(p))
		}
		last := len(names) - 1
		return fmt.Errorf("probing = %q, must be %s or %s", o.Probing, strings.Join(names[:last], ", "),
			names[last])
	}
	switch same := o.Probe == o.Data; {
	case same && o.Probing == Other:
		return fmt.Errorf("probing = %q, and the data that are probed are the data itself", o.Probing)
	case !same && o.Probing != Other:
		return fmt.Errorf("probing = %q, and the data that are probed are others", o.Probing)
	}
	return nil
}

// statement says what was looked at, and what follows for the prediction and for
// privacy.
func (p Probing) statement(data, probe string, synthetic bool) string {
	if p == Own {
		return fmt.Sprintf("proxies looked at %s itself, nearly without noise: that is covered by no (ε, δ) and right "+
			"only because the data is public", data)
	}
	if p == Private {
		return fmt.Sprintf("%s itself was looked at by private selection: a random number of private trainings, "+
			"judged by noised counts, of which only the best is released; the ε of that is a part of the target "+
			"epsilon. The number of records is taken to be public: how many are held out goes by it. The predicted "+
			"accuracy is that of a trial, at a smaller ε; how long the search took is not covered. The noise is that "+
			"of the seed: a simulation, which protects from nobody who knows it", data)
	}
	what := "the public data set " + probe
	if synthetic {
		what = "the drawn data set " + probe
	}
	return fmt.Sprintf("proxies looked at %s, not at %s: of that only the number of records, features and classes was "+
		"used. predicted accuracies are those of %s: a good step size can be expected of another set, not an accuracy",
		what, data, probe)
}
