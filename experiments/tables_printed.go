package experiments

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// printed is a number with the digits that a table of the paper shows.
type printed string

// value returns the number.
func (p printed) value() float64 {
	v, err := strconv.ParseFloat(string(p), 64)
	if err != nil {
		panic(fmt.Sprintf("experiments: printed = %q is no number", string(p)))
	}
	return v
}

// shows reports whether v has these digits, rounded or cut off: the paper does
// both with decimals, and rounds no size up.
func (p printed) shows(v float64) bool {
	_, decimals, fraction := strings.Cut(string(p), ".")
	above := (v - p.value()) * math.Pow10(len(decimals)) // units of the last digit
	least := 0.0
	if fraction {
		least = -0.5
	}
	return above >= least && above < 1
}

// isNear reports whether v may stand as a round number in a table: the sizes
// chosen there come within 1 % of it.
func (p printed) isNear(v float64) bool { return math.Abs(v/p.value()-1) <= 0.01 }

// problem is one of the three settings of the paper's tables: the parameters
// that all of them share, then what each table prints.
type problem struct {
	name      string
	n         int // N_c; of logistic regression more than any data set it uses has
	gradComps int // K

	basic struct {
		label                 string
		epsilon, sigma, delta printed
		size                  printed // the largest of the sample sizes
	}
	budgets struct {
		label string
		rows  []printedBudget
	}
	comparison struct {
		label         string
		sigma         printed // in the caption
		epsilon       printed // ε_target
		formula, asym printedColumn
	}
}

// printedBudget is a row of a table of budgets. Epsilon is either the ε of the
// run or a round number that was aimed at.
type printedBudget struct {
	epsilon, sigma, size printed
	exact                bool // ε is that of the run
}

// printedColumn is a column of a comparison of ε_target with ε_f-DP.
type printedColumn struct{ size, fdp, factor printed }

// epochs returns k = K/N.
func (p problem) epochs() float64 { return float64(p.gradComps) / float64(p.n) }

// delta returns δ = 1/N.
func (p problem) delta() float64 { return 1 / float64(p.n) }

// paperProblems returns what the paper prints, copied digit by digit but for
// powers of ten, which are written out.
func paperProblems() []problem { return []problem{paperConvex(), paperMNIST(), paperCIFAR()} }

func paperConvex() problem {
	convex := problem{name: "LIBSVM", n: 10_000, gradComps: 50_000}
	convex.basic.label = "tbl:basic_param_setting"
	convex.basic.epsilon, convex.basic.sigma, convex.basic.delta = "0.04945", "19.29962", "0.0001"
	convex.basic.size = "26"
	convex.budgets.label = "tbl:basic_param_setting_epsilon"
	convex.budgets.rows = []printedBudget{
		{"0.04945", "19.29962", "26", true},
		{"0.1", "13.06742", "55", false},
		{"0.25", "8.59143", "103", false},
		{"0.5", "6.05868", "168", false},
		{"1.0", "4.27273", "265", false},
		{"2.0", "3.03241", "400", false},
	}
	convex.comparison.label = "tbl:accountant_comparison_ICML_table_2"
	convex.comparison.sigma, convex.comparison.epsilon = "19.29962", "0.0497"
	convex.comparison.formula = printedColumn{"26", "0.0105", "4.7234"}
	convex.comparison.asym = printedColumn{"198", "0.0533", "0.9328"}
	return convex
}

func paperMNIST() problem {
	mnist := problem{name: "MNIST", n: 60_000, gradComps: 360_000}
	mnist.basic.label = "tbl:basic_param_setting_noncvx"
	mnist.basic.epsilon, mnist.basic.sigma, mnist.basic.delta = "0.15007", "12.10881", "0.00001667"
	mnist.basic.size = "370"
	mnist.budgets.label = "tbl:basic_param_setting_epsilon_noncvx"
	mnist.budgets.rows = []printedBudget{
		{"0.15007", "12.10881", "370", true},
		{"0.2", "10.48452", "460", false},
		{"0.25", "9.37379", "543", false},
		{"0.5", "6.63120", "889", false},
		{"0.75", "5.41887", "1168", false},
		{"1.0", "4.69244", "1409", false},
		{"2.0", "3.31648", "2159", false},
	}
	mnist.comparison.label = "tbl:accountant_comparison_ICML_table_3"
	mnist.comparison.sigma, mnist.comparison.epsilon = "12.10881", "0.1521"
	mnist.comparison.formula = printedColumn{"288", "0.0389", "3.9147"}
	mnist.comparison.asym = printedColumn{"3042", "0.2097", "0.7257"}
	return mnist
}

func paperCIFAR() problem {
	cifar := problem{name: "CIFAR-10", n: 50_000, gradComps: 350_000}
	cifar.basic.label = "tbl:basic_param_setting_noncvx_cifar10"
	cifar.basic.epsilon, cifar.basic.sigma, cifar.basic.delta = "0.50102", "6.572", "0.00002"
	cifar.basic.size = "689"
	cifar.budgets.label = "tbl:basic_param_setting_epsilon_cifar10"
	cifar.budgets.rows = []printedBudget{
		{"0.25", "9.29838", "417", false},
		{"0.5", "6.57192", "689", false},
		{"0.75", "5.36937", "909", false},
		{"1.0", "4.65014", "1099", false},
		{"1.5", "4.16111", "1267", false},
		{"2.0", "3.28831", "1690", false},
		{"3.0", "2.68273", "1994", false},
	}
	cifar.comparison.label = "tbl:accountant_comparison_ICML_table_4"
	cifar.comparison.sigma, cifar.comparison.epsilon = "6.572", "0.5253"
	cifar.comparison.formula = printedColumn{"406", "0.1133", "4.6372"}
	cifar.comparison.asym = printedColumn{"7504", "0.8239", "0.6376"}
	return cifar
}
