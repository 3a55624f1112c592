package cli

import (
	"regexp"
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

// FieldName maps the name of a flag to the field's name for it: for "sigma" it returns "noise-multiplier". It returns
// any other name unchanged.
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

// quantity matches a quantity before its value, at the beginning of a line or after another value. It also matches a
// text in double quotes, which is left as it is.
var quantity = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|( and | or | with | of | for |^)([A-Za-z_ ]+) = `)

// missing matches a quantity at the beginning of a line that says that it is missing.
var missing = regexp.MustCompile(`^([A-Za-z_ ]+) is missing`)

// flagOf returns the flag of cmd that sets a quantity, or nil.
func flagOf(cmd *cobra.Command, quantity string) *pflag.Flag {
	name, known := quantities[quantity]
	if !known {
		name = strings.NewReplacer(" ", "-", "_", "-").Replace(quantity)
	}
	return cmd.Flags().Lookup(name)
}

// InFlags rewrites the text of an error for the user of cmd: it replaces the names of quantities by the
// flags that set them. For example, "noise_multiplier = 3, must be…" becomes "--noise-multiplier = 3, must
// be…", if the user gave that flag, and "target_epsilon is missing" becomes "--target-epsilon is missing".
// It changes only lines that begin with a quantity and its value, or that say that a quantity is missing.
func InFlags(cmd *cobra.Command, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		who := ""
		if before, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(before, "client ") {
			who, line = before+": ", rest
		}
		if gone := missing.FindStringSubmatch(line); gone != nil {
			if flag := flagOf(cmd, gone[1]); flag != nil {
				lines[i] = who + "--" + flag.Name + strings.TrimPrefix(line, gone[1])
			}
			continue
		}
		if at := quantity.FindStringSubmatchIndex(line); at == nil || at[4] != 0 {
			continue
		}
		lines[i] = who + quantity.ReplaceAllStringFunc(line, func(text string) string {
			part := quantity.FindStringSubmatch(text)
			if flag := flagOf(cmd, part[2]); flag != nil && flag.Changed {
				return part[1] + "--" + flag.Name + " = "
			}
			return text
		})
	}
	return strings.Join(lines, "\n")
}
