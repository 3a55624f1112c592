package experiments

import (
	"proactivedp/internal/plots"
	"proactivedp/internal/results"
)

// These types of internal packages describe the folder of a result. The aliases make them available to
// users of this package.
type (
	// Drawing says how pictures are drawn, and in which file formats. The zero value is this program's own style, as
	// PNG.
	Drawing = results.Drawing
	// Style describes the look of a picture: its size, its typeface and similar settings.
	Style = plots.Style
	// Origin says when and by which program a result was made, on which machine, and in how much time.
	Origin = results.Origin
	// Data describes the data set from which a result was made.
	Data = results.Data
)
