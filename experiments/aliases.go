package experiments

import "proactivedp/internal/results"

// What a folder of a result has beside its pictures and its table.
type (
	// Drawing is how pictures are drawn, and in which formats; the zero value is the program's own
	// style, as PNG.
	Drawing = results.Drawing
	// Style is how a picture is drawn, of a Drawing.
	Style = results.Style
	// Origin says by which program, on what machine and in what time a result was made.
	Origin = results.Origin
	// Data says from which data a result was made.
	Data = results.Data
)
