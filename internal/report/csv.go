package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"

	"proactivedp/internal/message"
)

// ParseRows reads a CSV table with a header, and returns each row as a map from column names to cells. Two columns
// with the same name are an error.
func ParseRows(text []byte) ([]map[string]string, error) {
	header, records, err := ParseCSV(text)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]string, 0, len(records))
	for _, record := range records {
		row := make(map[string]string, len(record))
		for i, value := range record {
			row[header[i]] = value
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// ParseCSV reads a CSV table with a header. It is an error if two columns have the same name, or if a cell has
// characters that are not printable, see [message.CheckText].
func ParseCSV(text []byte) (header []string, rows [][]string, err error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	if len(records) == 0 {
		return nil, nil, errors.New("no header")
	}
	seen := map[string]bool{}
	for _, name := range records[0] {
		if seen[name] {
			return nil, nil, fmt.Errorf("column = %q appears twice", name)
		}
		seen[name] = true
	}
	for i, record := range records {
		for _, cell := range record {
			if err := message.CheckText(fmt.Sprintf("cell of row %d", i), cell, len(cell)); err != nil {
				return nil, nil, err
			}
		}
	}
	return records[0], records[1:], nil
}
