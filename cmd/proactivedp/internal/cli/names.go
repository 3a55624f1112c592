package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// paperNames are the paper's names of flags, each with the field's name. Help and messages use
// the field's name. Every command accepts both.
var paperNames = map[string]string{
	"sample-size": "batch-size",
	"sigma":       "noise-multiplier",
	"clip":        "max-grad-norm",
	"rounds":      "steps",
	"epsilon":     "target-epsilon",
}

// FieldName returns the name of a flag in the field's terms. name may be the paper's name for it.
func FieldName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if field, ok := paperNames[name]; ok {
		name = field
	}
	return pflag.NormalizedName(name)
}

// quantities maps the name of a quantity in messages to the flag that sets it, if the two differ by
// more than hyphens.
var quantities = map[string]string{
	"clipping norm":                    "max-grad-norm",
	"N":                                "n",
	"data set size N":                  "n",
	"count of rounds":                  "steps",
	"epochs k":                         "epochs",
	"order":                            "orders",
	"gradient computations per client": "grad-computations",
}

// InFlags rewrites the text of an error for the user of cmd: in lines that begin with a quantity
// and its value, it replaces the quantity by the flag that set it.
func InFlags(cmd *cobra.Command, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		who := ""
		if before, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(before, "client ") {
			who, line = before+": ", rest
		}
		quantity, value, ok := strings.Cut(line, " = ")
		name, known := quantities[quantity]
		if !known {
			name = strings.NewReplacer(" ", "-", "_", "-").Replace(quantity)
		}
		if flag := cmd.Flags().Lookup(name); ok && flag != nil && flag.Changed {
			lines[i] = who + "--" + flag.Name + " = " + value
		}
	}
	return strings.Join(lines, "\n")
}
