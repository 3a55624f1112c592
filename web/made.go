//go:build page

package web

import _ "embed"

//go:embed made/planner.html
var made []byte
