package training

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/files"
	"proactivedp/internal/message"
	"proactivedp/train"
)

func newExport() *cobra.Command {
	var out, format string
	cmd := &cobra.Command{
		Use:   "export MODEL",
		Short: "Write a model for other programs",
		Long: `Write a model that train, auto or host --save wrote. --format names the format, or the
ending of --out does: npz (NumPy) and safetensors have the weights as float32 arrays; onnx
has the whole computation, from float64 columns to probabilities, for models of rows. The
layers, how records are prepared, the labels and the privacy are written next to it, to a
file that ends with .json instead.

Without --out, the files are written next to MODEL and named like it: with --format npz,
my.model gives my.npz and my.json.

Exporting costs the training records no privacy (post-processing).`,
		Example: "  proactivedp export my.model --format npz\n  proactivedp export my.model --out elsewhere/my.onnx",
		Args:    cli.OneArg("the file of a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := exportPath(args[0], format, out)
			if err != nil {
				return cli.Usage(err)
			}
			about, err := train.CheckExport(out)
			if err != nil {
				return cli.Usage(fmt.Errorf("--out: %w", err))
			}
			for _, path := range []string{out, about} {
				if cli.SameFile(path, args[0]) {
					return cli.Usage(fmt.Errorf("%s must not replace the file of the model: give another --out", path))
				}
			}
			if err := describes(about); err != nil {
				return cli.Usage(err)
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
	cmd.Flags().StringVar(&format, "format", "", strings.Join(train.ExportFormats(), ", ")+" (default: the ending of --out)")
	cmd.Flags().StringVar(&out, "out", "", "`file` for the model (default: named like MODEL, with the ending of --format)")
	return cmd
}

// exportPath returns the file to be written: out, or one that is named like the model. Its ending is the format, if
// one is given.
func exportPath(model, format, out string) (string, error) {
	formats := train.ExportFormats()
	last := len(formats) - 1
	all := strings.Join(formats[:last], ", ") + " or " + formats[last]
	switch ending := filepath.Ext(out); {
	case format == "" && out == "":
		return "", fmt.Errorf("--format is missing, must be %s: or name the file with --out", all)
	case format != "" && !slices.Contains(formats, format):
		return "", fmt.Errorf("--format = %q, must be %s%s", format, all, message.Meant(format, formats))
	case out == "":
		return strings.TrimSuffix(model, ".model") + "." + format, nil
	case format != "" && ending != "."+format:
		return "", fmt.Errorf("--out = %s, must end with .%s, because --format is %s", out, format, format)
	}
	return out, nil
}

// describes returns an error if the file at path exists and an export did not write it. Users name the file of the
// weights, and may have another JSON file of this name, such as the report of the training.
func describes(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var is struct {
		Layers []json.RawMessage `json:"layers"`
	}
	if json.Unmarshal(text, &is) != nil || is.Layers == nil {
		return fmt.Errorf("%s exists and does not describe a model, must not be replaced: give another --out", path)
	}
	return nil
}
