package training

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/message"
	"proactivedp/internal/plots"
	"proactivedp/internal/results"
)

// drawingFlags are the flags for the style of pictures. The Drawing is complete when read has returned.
type drawingFlags struct {
	results.Drawing
	width string // a length, or "" for the usual one
}

func (d *drawingFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&d.Formats, "format", []string{"png"}, "what each picture is written as: png, svg, pdf")
	f.BoolVar(&d.Bare, "bare", false, "draw no title, caption or table, for a paper that has its own")
	f.StringVar(&d.width, "width", "", "width of the pictures, such as 3.25in, 8.5cm or 85mm, in [2in, 40in] (default "+
		"19cm); below 5in the legend is under the plot")
	f.StringVar(&d.Font, "font", "", "typeface: sans, serif or mono (default sans)")
	f.Float64Var(&d.Size, "font-size", 0, "size of the axes' labels in points, in [4, 40] (default 10)")
	cli.CountVar(f, &d.DPI, "dpi", 0, "dots an inch of png, in [20, 1200] (default 150)")
}

// check reads the flags of a command that draws only if a folder is given. It returns an error for invalid ones.
func (d *drawingFlags) check(cmd *cobra.Command, out string) error {
	err := d.read(cmd)
	if out == "" {
		err = errors.Join(err, cli.Refuse(cmd, "is of pictures, give --out with it", "format", "bare", "width", "font",
			"font-size", "dpi"))
	}
	return errors.Join(err, d.Validate())
}

// read completes the Drawing. PNG alone is the usual format, which a Drawing does not name.
func (d *drawingFlags) read(cmd *cobra.Command) error {
	err := cli.RefuseZeros(cmd, "font-size", "dpi")
	switch {
	case err != nil:
		return err
	case len(d.Formats) == 0 && cmd.Flags().Changed("format"):
		return fmt.Errorf("--format: none given, must be of %s", strings.Join(plots.Formats, ", "))
	case len(d.Formats) == 1 && d.Formats[0] == "png":
		d.Formats = nil
	}
	if d.width != "" {
		d.Width, err = plots.ParseInches(d.width)
	}
	return err
}

// drawingText writes the flags of a drawing, each with a blank before it.
func drawingText(d results.Drawing) string {
	text := message.Option("format", strings.Join(d.Formats, ",")) + message.Option("bare", d.Bare)
	if d.Width > 0 {
		text += message.Option("width", fmt.Sprintf("%gin", d.Width))
	}
	return text + message.Option("font", d.Font) + message.Option("font-size", d.Size) + message.Option("dpi", d.DPI)
}
