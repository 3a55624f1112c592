package training

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/files"
	"proactivedp/train"
)

func newExport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "export MODEL",
		Short: "Write a model for other programs",
		Long: `Write a model that train --save or auto --save wrote. The ending of --out decides the format:
.npz (NumPy) and .safetensors have the weights as float32 arrays; .onnx has the whole
computation, from float64 columns to probabilities, for models of rows. The layers, how
records are prepared, the labels and the privacy are written next to it, to a file that ends
with .json instead.

Exporting costs the training records no privacy (post-processing).`,
		Example: "  proactivedp export my.model --out my.npz\n  proactivedp export my.model --out my.onnx",
		Args:    cli.OneArg("the file of a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return cli.Usage(errors.New("--out is missing: it names the file to be written, which ends with .npz, " +
					".safetensors or .onnx"))
			}
			about, err := train.CheckExport(out)
			if err != nil {
				return cli.Usage(fmt.Errorf("--out: %w", err))
			}
			for _, path := range []string{out, about} {
				if cli.SameFile(path, args[0]) {
					return cli.Usage(fmt.Errorf("--out = %s, must not replace the file of the model", out))
				}
			}
			if err := files.Check(out); err != nil {
				return err
			}
			m, err := train.OpenModel(args[0])
			if err != nil {
				return err
			}
			if err := m.Export(out); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has %d weights of %s; %s describes them.\n", out, m.Params,
				train.ModelTitle(m.Spec.Model), about)
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`file` for the model, .npz, .safetensors or .onnx")
	return cmd
}
