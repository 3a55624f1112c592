package answer

import (
	"cmp"
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/message"
)

// MinAccuracy and MaxAccuracy are the limits of the accuracy in a question. The accountant pld encloses ε in an
// interval; the accuracy is the width of this interval divided by its upper end. A smaller number is more accurate
// and takes longer.
const MinAccuracy, MaxAccuracy = 1e-6, 0.5

// Accountants returns all accountants (methods that compute ε). The first one, pld, gives the sharpest guarantee. The
// last one, gdp, is an approximation without a guarantee. pld encloses ε in an interval; accuracy is the width of this
// interval divided by its upper end, in [MinAccuracy, MaxAccuracy], or 0 for pld.DefaultAccuracy. The other accountants
// do not use it.
func Accountants(accuracy float64) []dp.Accountant {
	return []dp.Accountant{
		pld.Accountant{Accuracy: accuracy}, rdp.Accountant{},
		closedform.MomentAccountant{}, closedform.Accountant{}, gdp.Accountant{},
	}
}

// Opacus is "prv", the name that the library Opacus gives its accountant. A question may name it, and is then
// answered by pld, which computes the same quantity with proved bounds.
const Opacus = "prv"

// AccountantNames returns the names of all accountants (methods that compute ε), by which a question can choose one.
// The first is "pld".
func AccountantNames() []string {
	var names []string
	for _, acc := range Accountants(pld.DefaultAccuracy) {
		names = append(names, acc.Name())
	}
	return names
}

// CheckAccuracy returns an error if accuracy, the relative width of the interval in which the accountant pld encloses
// ε, is outside [MinAccuracy, MaxAccuracy]. It accepts 0, which means pld.DefaultAccuracy.
func CheckAccuracy(accuracy float64) error {
	if accuracy == 0 {
		return nil
	}
	return dp.CheckRange("accuracy", accuracy, MinAccuracy, MaxAccuracy)
}

// accountants returns the accountant with the given name, or all if the name is "" or "all".
func accountants(name string, accuracy float64) ([]dp.Accountant, error) {
	if all := Accountants(cmp.Or(accuracy, pld.DefaultAccuracy)); name == "" || name == AllAccountants {
		return all, nil
	}
	acc, err := accountant(name, accuracy, AllAccountants)
	return []dp.Accountant{acc}, err
}

// accountant returns the accountant with the given name. The error for an unknown name also lists
// others, which the caller accepts as well.
func accountant(name string, accuracy float64, others ...string) (dp.Accountant, error) {
	if name == Opacus {
		name = pld.Accountant{}.Name()
	}
	for _, acc := range Accountants(cmp.Or(accuracy, pld.DefaultAccuracy)) {
		if acc.Name() == name {
			return acc, nil
		}
	}
	names := append(others, AccountantNames()...)
	return nil, fmt.Errorf("accountant = %q, must be one of %s%s", name, strings.Join(names, ", "), message.Meant(name, names))
}
