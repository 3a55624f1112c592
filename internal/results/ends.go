package results

import (
	"slices"
	"strconv"

	"proactivedp/internal/report"
)

// end is the result of the runs of one series of a figure.
type end struct {
	Series              string
	Accuracy            string // mean, with the spread over seeds
	Certified, Closed   string // largest ε per record of a run; "" if the figure has none
	CertifiedC, ClosedC string // the same per client
}

// ends returns the result of every series in a table of runs. Such a table has rows with a series, a
// seed and a test accuracy, and the last row of a run is its result. If a series has runs of several
// settings, each setting counts as a series. Tables of a utility graph (w* + n) have no such result.
func ends(header []string, rows [][]string) []end {
	at := func(names ...string) int {
		for _, name := range names {
			if i := slices.Index(header, name); i >= 0 {
				return i
			}
		}
		return -1
	}
	series, seed, accuracy := at("series", "delay", "case"), at("seed"), at("test_accuracy")
	if series < 0 || seed < 0 || accuracy < 0 || at("fraction") >= 0 {
		return nil
	}
	columns := [4]int{at("certified_epsilon_per_record"), at("epsilon_per_record"), at("certified_epsilon_per_client"),
		at("epsilon_per_client")}
	budgets := columns[0] >= 0 && at("gradients_of_all_clients") >= 0
	nameOf := naming(header, rows, series, budgets)
	type run struct{ name, seed string }
	var names []string
	of, last := map[string]*end{}, map[run]float64{}
	var order []run
	for _, row := range rows {
		name := nameOf(row)
		known := of[name] != nil
		if !known {
			of[name] = &end{Series: name}
			names = append(names, name)
		}
		e := of[name]
		for i, to := range []*string{&e.Certified, &e.Closed, &e.CertifiedC, &e.ClosedC} {
			if columns[i] >= 0 {
				*to, _ = larger(*to, row[columns[i]], !known) // "", which claims no ε, if a row has none
			}
		}
		x, err := strconv.ParseFloat(row[accuracy], 64)
		if err != nil {
			return nil
		}
		r := run{name, row[seed]}
		if _, seen := last[r]; !seen {
			order = append(order, r)
		}
		last[r] = x
	}
	var all []end
	for _, name := range names {
		var values []float64
		for _, r := range order {
			if r.name == name {
				values = append(values, last[r])
			}
		}
		mean, sd := report.Spread(values)
		of[name].Accuracy = report.SpreadText(mean, sd, len(values))
		all = append(all, *of[name])
	}
	return all
}

// settings are the columns that can distinguish runs of one series, with the symbols that names of runs
// use for them.
var settings = []struct{ column, symbol string }{{"sigma", "σ "}, {"sample_size", "s "}}

// naming returns a function that names the run of a row: by its series and, if the series has several
// values of a setting or of the budget, by these.
func naming(header []string, rows [][]string, series int, budgets bool) func(row []string) string {
	var columns []int
	var symbols []string
	for _, s := range settings {
		i := slices.Index(header, s.column)
		if i < 0 {
			continue
		}
		first, several := map[string]string{}, budgets
		for _, row := range rows {
			value, seen := first[row[series]]
			if several = several || seen && value != row[i]; !seen {
				first[row[series]] = row[i]
			}
		}
		if several {
			columns, symbols = append(columns, i), append(symbols, s.symbol)
		}
	}
	return func(row []string) string {
		name := row[series]
		for j, i := range columns {
			name += []string{": ", ", "}[min(j, 1)] + symbols[j] + row[i]
		}
		return name
	}
}
