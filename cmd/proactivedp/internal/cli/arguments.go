package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Arguments returns a function for shell completion of a command's arguments. It offers the names that the
// user has not typed yet.
func Arguments(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, given []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		left := slices.DeleteFunc(names(), func(name string) bool { return slices.Contains(given, name) })
		return Beginning(word, left), cobra.ShellCompDirectiveNoFileComp
	}
}

// Names returns values that are names, such as those of accountants, as texts.
func Names[T ~string](values []T) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return names
}

func Beginning(word string, values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(v, word) })
}
