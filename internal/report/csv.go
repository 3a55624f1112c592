package report

import (
	"bytes"
	"encoding/csv"
	"fmt"

	"proactivedp/internal/bounded"
)

// maxCSV bounds a table that is read, in bytes.
const maxCSV = 256 << 20

// ReadCSV reads a table with a header: each row by the names of its columns, which are
// different.
func ReadCSV(path string) ([]map[string]string, error) {
	text, err := bounded.File(path, maxCSV)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", path, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("report: %s has no header", path)
	}
	rows := make([]map[string]string, 0, len(records)-1)
	for _, record := range records[1:] {
		row := make(map[string]string, len(record))
		for i, value := range record {
			row[records[0][i]] = value
		}
		if len(row) != len(record) {
			return nil, fmt.Errorf("report: %s has two columns of one name", path)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
