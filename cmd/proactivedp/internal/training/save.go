package training

import (
	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/internal/files"
	"proactivedp/train"
)

// saveFlag is the flag for the file of a trained model.
type saveFlag struct{ path string }

func (s *saveFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.path, "save", "", "write the trained model (with --average the averaged one) to this "+
		"`file`, for predict")
}

// check returns an error if the file cannot be written. It is called before training.
func (s saveFlag) check() error {
	if s.path == "" {
		return nil
	}
	return files.Check(s.path)
}

// saved is a report that can write its model.
type saved interface {
	Save(path string, in train.Inputs) error
}

// write writes the model of the report r, which was trained on d. own says how d was read.
func (s saveFlag) write(r saved, d *data.Dataset, own *cli.OwnFlags) error {
	if s.path == "" {
		return nil
	}
	in := train.NewInputs(d, own.LabelMap, own.Mapped)
	in.Kinds, in.Form, in.LabelColumn = own.Kinds, own.Form, own.LabelColumn
	return r.Save(s.path, in)
}
