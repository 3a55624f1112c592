package training

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/internal/plots"
	"proactivedp/internal/results"
)

type drawingFlags struct {
	is    results.Drawing
	width string // a length, or "" for the usual one
}

func newDrawingFlags() *drawingFlags {
	return &drawingFlags{is: results.Drawing{Formats: []string{"png"}}}
}

func (d *drawingFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&d.is.Formats, "format", d.is.Formats, "what each picture is written as: png, svg, pdf")
	f.BoolVar(&d.is.Bare, "bare", false, "draw no title, caption or table, for a paper that has its own")
	f.StringVar(&d.width, "width", "", "width of the pictures, such as 3.25in, 8.5cm or 85mm, in [2in, 40in] (default "+
		"19cm); below 5in the legend is under the plot")
	f.StringVar(&d.is.Font, "font", "", "typeface: sans, serif or mono (default sans)")
	f.Float64Var(&d.is.Size, "font-size", 0, "size of the axes' labels in points, in [4, 40] (default 10)")
	cli.CountVar(f, &d.is.DPI, "dpi", 0, "dots an inch of png, in [20, 1200] (default 150)")
}

// check returns an error for invalid flags of a command that draws only if a folder is given.
func (d *drawingFlags) check(cmd *cobra.Command, out string) error {
	is, err := d.drawing(cmd)
	if out == "" {
		err = errors.Join(err, cli.Refuse(cmd, "is of pictures, give --out with it", "format", "bare", "width", "font",
			"font-size", "dpi"))
	}
	return errors.Join(err, is.Validate())
}

// drawing returns the style that the flags of cmd ask for. Without flags the format is PNG.
func (d *drawingFlags) drawing(cmd *cobra.Command) (results.Drawing, error) {
	is := d.is
	if err := cli.RefuseZeros(cmd, "font-size", "dpi"); err != nil {
		return is, err
	}
	if len(is.Formats) == 0 {
		return is, fmt.Errorf("--format: none given, must be of %s", strings.Join(plots.Formats, ", "))
	}
	if len(is.Formats) == 1 && is.Formats[0] == "png" {
		is.Formats = nil
	}
	if d.width == "" {
		return is, nil
	}
	var err error
	is.Width, err = plots.ParseInches(d.width)
	return is, err
}

// drawingText writes the flags of a drawing, each with a blank before it.
func drawingText(d results.Drawing) string {
	var text strings.Builder
	if len(d.Formats) > 0 {
		fmt.Fprintf(&text, " --format %s", strings.Join(d.Formats, ","))
	}
	if d.Bare {
		text.WriteString(" --bare")
	}
	if d.Width > 0 {
		fmt.Fprintf(&text, " --width %gin", d.Width)
	}
	if d.Font != "" {
		fmt.Fprintf(&text, " --font %s", d.Font)
	}
	if d.Size > 0 {
		fmt.Fprintf(&text, " --font-size %g", d.Size)
	}
	if d.DPI > 0 {
		fmt.Fprintf(&text, " --dpi %d", d.DPI)
	}
	return text.String()
}
