package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// lists are the types of flags that may be given several times, because each use adds to a list.
var lists = []string{"numbers", "counts", "stringArray", "stringSlice"}

// CheckTwice returns an error for a flag that is given twice, because only the last value would count. Of a flag with
// two names, only one may be given. It also returns the command that args name, or root if there is none. It ignores
// other errors of the arguments, which root reports later.
func CheckTwice(root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, args, err := root.Find(args)
	if err != nil {
		return root, nil
	}
	cmd.InitDefaultHelpFlag() // otherwise the next line would print the help if it is asked for
	cmd.InheritedFlags()      // adds the inherited flags to those of cmd
	type use struct{ name, value string }
	given := map[string]use{}
	var name string // the name of the flag as it was written
	cmd.Flags().SetNormalizeFunc(func(f *pflag.FlagSet, as string) pflag.NormalizedName {
		name = as
		return FieldName(f, as)
	})
	defer cmd.Flags().SetNormalizeFunc(FieldName)
	var errs []error
	_ = cmd.Flags().ParseAll(args, func(f *pflag.Flag, value string) error {
		before, twice := given[f.Name]
		now := use{f.Name, value}
		if paperNames[name] == f.Name {
			now.name = name
		}
		switch {
		case twice && before.name != now.name:
			errs = append(errs, fmt.Errorf("--%s and --%s are two names of one flag: give one", before.name, now.name))
		case twice && before.value != value && !slices.Contains(lists, f.Value.Type()):
			errs = append(errs, fmt.Errorf("--%s is given twice: %s and %s", f.Name, before.value, value))
		}
		given[f.Name] = now
		return nil
	})
	return cmd, Usage(Distinct(errs))
}
