package privacy

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"proactivedp/internal/files"
)

// fileFlags are the flags for files to which a table of numbers is written.
type fileFlags struct{ csv, png string }

// add gives cmd the flags --csv and --png.
func (f *fileFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.csv, "csv", "", "write "+what+" to this `file`, as CSV")
	cmd.Flags().StringVar(&f.png, "png", "", "write "+what+" to this `file`, as a PNG picture")
}

// writable returns an error for files that cannot be written, before anything is computed.
func (f *fileFlags) writable() error {
	var errs []error
	for _, path := range []string{f.csv, f.png} {
		if path != "" {
			errs = append(errs, files.Check(path))
		}
	}
	return errors.Join(errs...)
}

// write writes the files that were given, each completely or not at all.
func (f *fileFlags) write(csv, png func(io.Writer) error) error {
	for _, file := range []struct {
		path string
		fill func(io.Writer) error
	}{{f.csv, csv}, {f.png, png}} {
		if file.path == "" {
			continue
		}
		if err := files.Write(file.path, file.fill); err != nil {
			return err
		}
	}
	return nil
}
