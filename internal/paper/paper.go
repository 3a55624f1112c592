// Package paper holds the numbers that the paper's tables print, digit by digit.
package paper

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number is a number as the paper prints it, with exactly the same digits.
type Number string

// Value returns the number as a float64.
func (p Number) Value() float64 {
	v, err := strconv.ParseFloat(string(p), 64)
	if err != nil {
		panic(fmt.Sprintf("paper: printed = %q is no number", string(p)))
	}
	return v
}

// Shows reports whether the paper may print v as p. Decimals may be rounded or cut off, because the paper does both.
// Sizes are never rounded up.
func (p Number) Shows(v float64) bool {
	_, decimals, fraction := strings.Cut(string(p), ".")
	above := (v - p.Value()) * math.Pow10(len(decimals)) // how many units of the last digit v is above
	least := 0.0
	if fraction {
		least = -0.5
	}
	return above >= least && above < 1
}

// IsNear reports whether v is within 1 % of p. Use it for tables that print a round number for ε, together
// with batch sizes for which the real ε is within 1 % of that number.
func (p Number) IsNear(v float64) bool { return math.Abs(v/p.Value()-1) <= 0.01 }

// Case is one of the paper's three settings: the parameters that all tables of this setting share, and the numbers
// that each table prints.
type Case struct {
	Name      string
	N         int // N_c; for logistic regression, more than the training records of any of its data sets
	GradComps int // K, the gradient computations of a client

	Basic struct {
		Label                 string
		Epsilon, Sigma, Delta Number
		Size                  Number // the largest of the paper's sample sizes
	}
	Budgets struct {
		Label string
		Rows  []Budget
	}
	// Stated lists the accuracies that the text states, each with its ε. The accuracy without noise
	// has no ε.
	Stated     []Stated
	Comparison struct {
		Label         string
		Sigma         Number // σ in the table's caption
		Epsilon       Number // ε_target
		Formula, Asym Column
	}
}

// Stated is an accuracy that the paper's text states, with its data set and its ε.
type Stated struct {
	Data              string // name of the data set
	Accuracy, Epsilon Number // a fraction; Epsilon is "" for a training without noise
	Where             string // words next to it in the text, by which it can be found
}

// Budget is a row of one of the paper's tables of privacy budgets. Epsilon is the ε of the run or, if Exact is false,
// a round number near it.
type Budget struct {
	Epsilon, Sigma, Size Number
	Exact                bool // whether ε is that of the run
}

// Column is a column of one of the paper's tables that compare two values of ε for one training: ε_target,
// which the paper's theorem guarantees, and ε_f-DP, which its f-DP analysis gives. Factor is their ratio.
type Column struct{ Size, FDP, Factor Number }

// Epochs returns the number of epochs of the setting, k = K/N.
func (p Case) Epochs() float64 { return float64(p.GradComps) / float64(p.N) }

// Delta returns the δ of the setting, 1/N.
func (p Case) Delta() float64 { return 1 / float64(p.N) }

// Cases returns the paper's three settings with the numbers as printed, digit by digit. Only powers of ten
// are written differently.
func Cases() []Case { return []Case{Convex(), MNIST(), CIFAR()} }

// Convex returns the setting of logistic regression, for both the strongly convex and the plain convex objective.
func Convex() Case {
	convex := Case{Name: "LIBSVM", N: 10_000, GradComps: 50_000}
	convex.Basic.Label = "tbl:basic_param_setting"
	convex.Basic.Epsilon, convex.Basic.Sigma, convex.Basic.Delta = "0.04945", "19.29962", "0.0001"
	convex.Basic.Size = "26"
	convex.Budgets.Label = "tbl:basic_param_setting_epsilon"
	convex.Budgets.Rows = []Budget{
		{"0.04945", "19.29962", "26", true},
		{"0.1", "13.06742", "55", false},
		{"0.25", "8.59143", "103", false},
		{"0.5", "6.05868", "168", false},
		{"1.0", "4.27273", "265", false},
		{"2.0", "3.03241", "400", false},
	}
	convex.Stated = []Stated{
		{"phishing", "0.86", "0.04945", "achieves test accuracy 86\\% compared to 93\\% without differential privacy"},
		{"phishing", "0.91", "0.1",
			"still significantly smaller than what is reported in literature, achieves test accuracy 91\\%"},
		{"phishing", "0.93", "", "achieves test accuracy 86\\% compared to 93\\% without differential privacy"},
	}
	convex.Comparison.Label = "tbl:accountant_comparison_ICML_table_2"
	convex.Comparison.Sigma, convex.Comparison.Epsilon = "19.29962", "0.0497"
	convex.Comparison.Formula = Column{"26", "0.0105", "4.7234"}
	convex.Comparison.Asym = Column{"198", "0.0533", "0.9328"}
	return convex
}

// MNIST returns the setting of the network on MNIST.
func MNIST() Case {
	mnist := Case{Name: "MNIST", N: 60_000, GradComps: 360_000}
	mnist.Basic.Label = "tbl:basic_param_setting_noncvx"
	mnist.Basic.Epsilon, mnist.Basic.Sigma, mnist.Basic.Delta = "0.15007", "12.10881", "0.00001667"
	mnist.Basic.Size = "370"
	mnist.Budgets.Label = "tbl:basic_param_setting_epsilon_noncvx"
	mnist.Budgets.Rows = []Budget{
		{"0.15007", "12.10881", "370", true},
		{"0.2", "10.48452", "460", false},
		{"0.25", "9.37379", "543", false},
		{"0.5", "6.63120", "889", false},
		{"0.75", "5.41887", "1168", false},
		{"1.0", "4.69244", "1409", false},
		{"2.0", "3.31648", "2159", false},
	}
	mnist.Stated = []Stated{
		{"mnist", "0.93", "0.15", "about $93\\%$, compared to $98\\%$ without differential privacy"},
		{"mnist", "0.98", "", "about $93\\%$, compared to $98\\%$ without differential privacy"},
	}
	mnist.Comparison.Label = "tbl:accountant_comparison_ICML_table_3"
	mnist.Comparison.Sigma, mnist.Comparison.Epsilon = "12.10881", "0.1521"
	mnist.Comparison.Formula = Column{"288", "0.0389", "3.9147"}
	mnist.Comparison.Asym = Column{"3042", "0.2097", "0.7257"}
	return mnist
}

// CIFAR returns the setting of the network on CIFAR-10.
func CIFAR() Case {
	cifar := Case{Name: "CIFAR-10", N: 50_000, GradComps: 350_000}
	cifar.Basic.Label = "tbl:basic_param_setting_noncvx_cifar10"
	cifar.Basic.Epsilon, cifar.Basic.Sigma, cifar.Basic.Delta = "0.50102", "6.572", "0.00002"
	cifar.Basic.Size = "689"
	cifar.Budgets.Label = "tbl:basic_param_setting_epsilon_cifar10"
	cifar.Budgets.Rows = []Budget{
		{"0.25", "9.29838", "417", false},
		{"0.5", "6.57192", "689", false},
		{"0.75", "5.36937", "909", false},
		{"1.0", "4.65014", "1099", false},
		{"1.5", "4.16111", "1267", false},
		{"2.0", "3.28831", "1690", false},
		{"3.0", "2.68273", "1994", false},
	}
	cifar.Stated = []Stated{
		{"cifar10", "0.60", "0.5", "we achieve $\\approx 60\\%$ test accuracy for $\\epsilon \\in [0.5,3]$"},
		{"cifar10", "0.74", "", "which shows $\\approx 0.74$ maximum test accuracy in practice"},
	}
	cifar.Comparison.Label = "tbl:accountant_comparison_ICML_table_4"
	cifar.Comparison.Sigma, cifar.Comparison.Epsilon = "6.572", "0.5253"
	cifar.Comparison.Formula = Column{"406", "0.1133", "4.6372"}
	cifar.Comparison.Asym = Column{"7504", "0.8239", "0.6376"}
	return cifar
}
