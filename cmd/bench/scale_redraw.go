//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/report"
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
	text, err := bounded.Within(dir, results.ManifestFile, 1<<20)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("%s: %w", results.ManifestFile, err)
	}
	if text, err = bounded.Within(dir, results.TableFile, 1<<20); err != nil {
		return err
	}
	table, err := results.ParseTable(text)
	if err != nil {
		return err
	}
	points, err := storedScale(table)
	if err != nil {
		return err
	}
	caption := scaleCaption(&m)
	output := func(name string, q scaleQuantity) files.Output {
		return files.Output{Path: filepath.Join(dir, name),
			Write: func(w io.Writer) error { return q.draw(w, points, &m.Law, caption) }}
	}
	readme := files.Output{Path: filepath.Join(dir, scaleReadme), Write: func(w io.Writer) error {
		return report.WriteMarkdown(w, func(w io.Writer) error { return writeScaleReadme(w, points, &m) })
	}}
	return files.WriteSet([]files.Output{output(scaleMemory, memoryCost), readme}, output(scalePicture, timeCost))
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
