package results

import (
	"slices"
	"strconv"

	"proactivedp/internal/report"
)

// end is how the runs of a series of a figure ended.
type end struct {
	Series              string
	Accuracy            string // with its spread over seeds
	Certified, Closed   string // ε per record, the largest of a run; "" where the figure has none
	CertifiedC, ClosedC string // ε per client
}

// ends returns how every series ended, if the table has runs: rows with a series, a seed
// and a test accuracy, of which a run's last one is its end. Those of a graph of w* + n are
// none. Where a series has runs of several settings, each is a series of its own.
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
			switch {
			case columns[i] < 0:
			case known:
				*to = largerText(*to, row[columns[i]])
			default:
				*to = row[columns[i]]
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

// settings are the columns by which rows of one series may be of different runs, with what
// names have before their values.
var settings = []struct{ column, symbol string }{{"sigma", "σ "}, {"sample_size", "s "}}

// naming returns what the runs of a table are called: by their series and, where one has
// several of a setting, or budgets, by that.
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

// largerText returns the larger of two ε as tables write them, where anything but a number, such
// as "", says that none is claimed.
func largerText(a, b string) string {
	x, err := strconv.ParseFloat(a, 64)
	y, failed := strconv.ParseFloat(b, 64)
	switch {
	case err != nil || failed != nil:
		return ""
	case y > x:
		return b
	}
	return a
}
