package experiments

import (
	"proactivedp/internal/plots"
	"proactivedp/internal/results"
)

// These types are names for types of internal packages that functions of this package take or return. With the names,
// other modules can use them.
type (
	// Drawing says how pictures are drawn, and in which file formats (png, svg, pdf). The zero value draws PNG files
	// in the default style of this program.
	Drawing = results.Drawing
	// Style describes the look of a picture, such as its size and its typeface. It is a part of a [Drawing].
	Style = plots.Style
	// Origin is the part of a manifest that says when and by which version of this program a result was made, on
	// which machine, and how long the trainings took.
	Origin = results.Origin
	// Data is the part of a manifest that describes the data set of a result: its name, a digest, the numbers of rows
	// and features, and whether it was made up.
	Data = results.Data
)
