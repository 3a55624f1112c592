//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"proactivedp/internal/files"
	"proactivedp/internal/results"
)

// scaleManifest is the part of the manifest of results/scale that its pictures and its README show.
type scaleManifest struct {
	Machine string   `json:"machine"`
	CPUs    int      `json:"cpus"`
	Runs    int      `json:"runs"`
	Law     scaleLaw `json:"law"`
	Made    string   `json:"made"` // the date
	Go      string   `json:"go"`
}

// redrawScale draws the pictures and writes the README of a folder that scale wrote, again from its data and manifest.
func redrawScale(dir string) error {
	var m scaleManifest
	table, err := results.ReadFigure(dir, "", &m, new(string))
	if err != nil {
		return err
	}
	points, err := storedScale(table)
	if err != nil {
		return err
	}
	var outputs []files.Output
	for name, write := range m.pictures(points) {
		outputs = append(outputs, files.Output{Path: filepath.Join(dir, name), Write: write})
	}
	return files.WriteSet(outputs[1:], outputs[0])
}

// storedScale reads the points from data.csv.
func storedScale(table results.Table) ([]scalePoint, error) {
	var processors, clients, params, updates, rate, ns, least, most, gradient, mib []float64
	if err := table.Columns(map[string]*[]float64{"processors": &processors, "clients": &clients,
		"parameters": &params, "client_rounds": &updates, "client_rounds_per_second": &rate, "processor_ns": &ns,
		"processor_ns_least": &least, "processor_ns_most": &most, "gradient_ns": &gradient, "peak_mib": &mib}); err != nil {
		return nil, err
	}
	var points []scalePoint
	for i, row := range table.Rows {
		points = append(points, scalePoint{Runner: row[0], Model: row[1], Processors: int(processors[i]),
			Clients: int(clients[i]), Params: int(params[i]), Updates: int(updates[i]), Rate: rate[i],
			Nanoseconds: ns[i], Least: least[i], Most: most[i], Gradient: gradient[i], MiB: mib[i]})
	}
	if len(points) == 0 || strconv.Itoa(points[0].Clients) != table.Rows[0][3] {
		return nil, fmt.Errorf("%s has other columns or no rows: it must be measured again", results.TableFile)
	}
	return points, nil
}
