package propose

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"proactivedp/data"
)

// Probing says on which data the search runs its proxies (cheaper trainings that predict the accuracy of full ones):
// on the data of the later training, or on other data. So it decides what a proposal reveals about the user's
// records. The field Probe.Statement of the report describes that.
type Probing string

// These are the values of [Probing]: whose data the search uses.
const (
	// Own means that the search uses the data of the later training. Its trainings have almost no noise, so use Own
	// only for public data.
	Own Probing = "own"
	// Other means that the search uses other data, public or synthetic ones. Of the user's own data, only the numbers
	// of records, features and classes are used.
	Other Probing = "other"
	// Private means that the search uses the data of the later training, but privately: a random number of private
	// trainings is run, and only the best one is released (rdp.Selection). Their cost is part of the target epsilon.
	Private Probing = "private"
)

// checkProbing reports missing sources, and a probing that is not allowed or does not match the
// sources. The statement about privacy depends on it.
func (o Options) checkProbing(allowed ...Probing) error {
	if o.Data == nil || o.Probe == nil {
		return errors.New("data and probe, the sources for training and for probing, must both be given")
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
		return fmt.Errorf("probing = %q, but the probed data are the data itself", o.Probing)
	case !same && o.Probing != Other:
		return fmt.Errorf("probing = %q, but the probed data are other data", o.Probing)
	}
	return nil
}

// statement says which data were used, and what follows for the prediction and for privacy.
func (p Probing) statement(name string, probe *data.Dataset) string {
	if p == Own {
		return fmt.Sprintf("proxies used %s itself, almost without noise: no (ε, δ) covers this, and it is only "+
			"right because the data is public", name)
	}
	if p == Private {
		return fmt.Sprintf("%s itself was probed by private selection: a random number of private trainings, "+
			"judged by noised counts. Only the best one is released; its ε is part of the target epsilon. "+
			"The number of records is assumed to be public, because it determines how many are held out. The "+
			"predicted accuracy is that of a trial, at a smaller ε. The duration of the search is not covered. "+
			"The noise comes from the seed: this is a simulation, which does not protect against anybody who "+
			"knows the seed", name)
	}
	what, facts, accuracies, one := "the public data set "+probe.Name, "features and classes was used", "Accuracies", "accuracy"
	if probe.Synthetic {
		what = "the synthetic data set " + probe.Name
	}
	if probe.Targets != nil {
		facts, accuracies, one = "features and the bounds of the target were used", "Errors and R²", "error"
	}
	return fmt.Sprintf("proxies used %s, not %s: of the latter only the number of records, %s, and how long its gradients take. "+
		"%s are those of %s: a good step size carries over to another set, an %s does not",
		what, name, facts, accuracies, probe.Name, one)
}
