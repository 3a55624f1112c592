package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lists are the types of flags that may be given several times: each adds to a list.
var lists = []string{"numbers", "counts", "stringArray", "stringSlice"}

// CheckTwice reports the flags that arguments of the program give two values, of which only
// the last would count. What else is wrong with the arguments is for root to say.
func CheckTwice(root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, args, err := root.Find(args)
	if err != nil {
		return root, nil
	}
	cmd.InitDefaultHelpFlag() // without it the next line would print help where that is asked for
	cmd.InheritedFlags()      // makes them the command's
	given := map[string]string{}
	var errs []error
	_ = cmd.Flags().ParseAll(args, func(f *pflag.Flag, value string) error {
		before, twice := given[f.Name]
		if twice && before != value && !slices.Contains(lists, f.Value.Type()) {
			errs = append(errs, fmt.Errorf("--%s is given twice: %s and %s", f.Name, before, value))
		}
		given[f.Name] = value
		return nil
	})
	return cmd, Usage(Distinct(errs))
}
