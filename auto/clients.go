package auto

import (
	"errors"
	"fmt"

	"proactivedp/dp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/strictjson"
	"proactivedp/sim"
)

// maxClientsFile is the largest size of a file of clients, in bytes.
const maxClientsFile = 16 << 20

// ReadClients reads the budgets and targets of clients from a JSON file. The file has a list with an object for each
// client, in order, with the keys of [Client]:
//
//	[{"epsilon": 0.5, "target_accuracy": 0.9},
//	 {"epsilon": 1, "delta": 1e-5, "target_accuracy": 0.92, "records": 1000}]
//
// Unknown keys are errors. The error lists all values outside their ranges.
func ReadClients(path string) ([]Client, error) {
	text, err := bounded.File(path, maxClientsFile)
	if err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	all, err := parseClients(text)
	if err != nil {
		return nil, fmt.Errorf("clients %s: %w", path, err)
	}
	return all, nil
}

func parseClients(text []byte) ([]Client, error) {
	var all []Client
	if err := strictjson.Decode(text, &all); err != nil {
		return nil, err
	}
	errs := []error{checkClients(len(all))}
	for i, c := range all {
		for _, err := range c.check() {
			errs = append(errs, fmt.Errorf("client %d: %w", i, err))
		}
		if !(c.Accuracy > 0) {
			errs = append(errs, fmt.Errorf("client %d: target accuracy = %v, must be above 0", i, c.Accuracy))
		}
	}
	return all, errors.Join(errs...)
}

// checkClients reports a number of clients outside its range.
func checkClients(n int) error { return dp.CheckCount("clients", n, 1, sim.MaxClients) }

// NewClients returns n clients with the given budgets and target accuracies. Each list has one value for all clients,
// or n values, one for each client. deltas may also be empty: then the δ of a client with N records is 1/N. The error
// lists all problems.
func NewClients(n int, epsilons, deltas, accuracies []float64) ([]Client, error) {
	if err := checkClients(n); err != nil {
		return nil, err
	}
	all := make([]Client, n)
	var errs []error
	for _, list := range []struct {
		name   string
		values []float64
		set    func(c *Client, v float64)
	}{
		{"epsilon", epsilons, func(c *Client, v float64) { c.Epsilon = v }},
		{"target accuracy", accuracies, func(c *Client, v float64) { c.Accuracy = v }},
		{"delta", deltas, func(c *Client, v float64) { c.Delta = v }},
	} {
		switch have := len(list.values); {
		case have == 0 && list.name != "delta":
			errs = append(errs, fmt.Errorf("%s is missing, must be given", list.name))
			for i := range all {
				list.set(&all[i], 1) // a valid value, so that a missing list is reported once
			}
		case have > 1 && have != n:
			errs = append(errs, fmt.Errorf("%s has %d values, must have one, or one for each of %d clients",
				list.name, have, n))
		case have > 0:
			for i := range all {
				list.set(&all[i], list.values[min(i, have-1)])
			}
		}
	}
	return all, errors.Join(errs...)
}
