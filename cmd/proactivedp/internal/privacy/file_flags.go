package privacy

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"proactivedp/internal/files"
)

// fileFlags names the files that a table of numbers is written to.
type fileFlags struct{ csv, png string }

// add gives cmd the flags --csv and --png.
func (f *fileFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.csv, "csv", "", "write "+what+" to this `file`, as CSV")
	cmd.Flags().StringVar(&f.png, "png", "", "write "+what+" to this `file`, as a PNG picture")
}

// writable reports files that cannot be written, before there is anything to write.
func (f *fileFlags) writable() error {
	var errs []error
	for _, path := range []string{f.csv, f.png} {
		if path != "" {
			errs = append(errs, files.Check(path))
		}
	}
	return errors.Join(errs...)
}

// write writes the files that were named, each as a whole.
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
