package answer

import (
	"fmt"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/closedform"
	"proactivedp/dp/gdp"
	"proactivedp/dp/pld"
	"proactivedp/dp/rdp"
	"proactivedp/internal/message"
)

// The relative widths that the intervals of pld may be asked for.
const MinAccuracy, MaxAccuracy = 1e-6, 0.5

// Accountants returns every accountant, the sharpest guarantee first and the one without
// a guarantee last. The intervals of pld have the relative width given, in
// [MinAccuracy, MaxAccuracy].
func Accountants(accuracy float64) []dp.Accountant {
	return []dp.Accountant{
		pld.Accountant{Accuracy: accuracy}, rdp.Accountant{},
		closedform.MomentAccountant{}, closedform.Accountant{}, gdp.Accountant{},
	}
}

// AccountantNames lists the names of all accountants.
func AccountantNames() []string {
	var names []string
	for _, acc := range Accountants(pld.DefaultAccuracy) {
		names = append(names, acc.Name())
	}
	return names
}

// accountant returns the one of the name.
func accountant(name string, accuracy float64) (dp.Accountant, error) {
	for _, acc := range Accountants(accuracy) {
		if acc.Name() == name {
			return acc, nil
		}
	}
	meant := ""
	if near := message.Nearest(name, AccountantNames()); near != "" {
		meant = ": did you mean " + near + "?"
	}
	return nil, fmt.Errorf("accountant = %q, must be one of %s%s", name, strings.Join(AccountantNames(), ", "),
		meant)
}
