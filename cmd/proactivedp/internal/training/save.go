package training

import (
	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/internal/files"
	"proactivedp/train"
)

// saveFlag is the flag for the file of a trained model.
type saveFlag struct {
	path string
	own  *cli.OwnFlags // how the data were read
}

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

func (s saveFlag) write(r saved, d *data.Dataset) error {
	if s.path == "" {
		return nil
	}
	in := train.NewInputs(d, s.own.LabelMap, s.own.Mapped)
	in.Kinds, in.Form, in.LabelColumn = s.own.Kinds, s.own.Form, s.own.LabelColumn
	return r.Save(s.path, in)
}
