// This file has results of other accountants, with which tests compare. They were computed with the
// public libraries named in each row: dp_accounting 0.6.0 (Google), prv_accountant 0.2.0
// (Microsoft), Opacus 1.5.4 (Meta), and the gdp_accountant of TensorFlow Privacy.

package testkit

import (
	_ "embed"
	"fmt"
	"strconv"

	"proactivedp/internal/report"
)

//go:embed accountants.csv
var accountants string

//go:embed calibrate.csv
var calibrate string

// Row is the ε that a public library computes for T rounds at sample rate Q with noise multiplier Sigma.
// Tests compare this program's accountants with it.
//
// Accountant names the library and its method:
//
//   - dp_accounting-PLD(h): an upper bound; h is the discretisation interval. With h = 1e-4 it is
//     too coarse for ε < 0.1.
//   - prv_accountant-lower|estimate|upper(eps_error=e): the true ε is between lower and upper.
//   - dp_accounting-RDP(orders), opacus-RDP, dp_accounting-RDP-WOR (fixed-size samples).
//   - tf_privacy-CLT-uniform|poisson: an approximation.
type Row struct {
	Setting             string
	N, S                int // sizes of the data set and the sample; 0 if the row has only the rate
	Q, Sigma            float64
	T                   int
	Delta               float64
	Accountant          string
	Adjacency, Sampling string
	Epsilon             float64
}

// Accountants returns the rows of accountants.csv: for each setting, the ε that each public library computes.
func Accountants() ([]Row, error) {
	var rows []Row
	err := each(accountants, func(f fields) {
		rows = append(rows, Row{
			f["setting"], f.int("N"), f.int("s"), f.float("q"), f.float("sigma"), f.int("T"), f.float("delta"),
			f["accountant"], f["adjacency"], f["sampling"], f.float("epsilon"),
		})
	})
	return rows, err
}

// Noise is the smallest noise multiplier, Sigma, that a public library's search finds for a target ε, with
// add-or-remove adjacency and Poisson sampling.
type Noise struct {
	Epsilon, Delta, Q float64
	T                 int
	Method            string
	Sigma, Achieved   float64
}

// Noises returns the rows of calibrate.csv: for each budget, the noise multiplier that each public library found.
func Noises() ([]Noise, error) {
	var rows []Noise
	err := each(calibrate, func(f fields) {
		rows = append(rows, Noise{
			f.float("target_epsilon"), f.float("delta"), f.float("q"), f.int("T"), f["method"], f.float("sigma"),
			f.float("achieved_epsilon"),
		})
	})
	return rows, err
}

type fields map[string]string

func (f fields) float(name string) float64 {
	x, err := strconv.ParseFloat(f[name], 64)
	if err != nil {
		panic(fmt.Sprintf("oracle: %s = %q is not a number", name, f[name]))
	}
	return x
}

func (f fields) int(name string) int {
	if f[name] == "" {
		return 0
	}
	return int(f.float(name))
}

func each(text string, add func(fields)) error {
	rows, err := report.ParseRows([]byte(text))
	for _, row := range rows {
		add(row)
	}
	return err
}
