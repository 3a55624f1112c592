package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/internal/message"
)

func AnyChanged(cmd *cobra.Command, names ...string) bool {
	return slices.ContainsFunc(names, cmd.Flags().Changed)
}

// Given returns the value given if the flag with the name was given, and otherwise usual.
func Given[T any](cmd *cobra.Command, name string, given, usual T) T {
	if cmd.Flags().Changed(name) {
		return given
	}
	return usual
}

// RefuseZeros returns an error for each named flag that was given as 0, or with 0 in its list. Other packages take 0
// to mean that the value was not given. Flags that the command does not have are skipped.
func RefuseZeros(cmd *cobra.Command, names ...string) error {
	var errs []error
	for _, name := range names {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		zero := slices.ContainsFunc(strings.Split(flag.Value.String(), ","), func(text string) bool {
			v, err := strconv.ParseFloat(text, 64)
			return err == nil && v == 0
		})
		if zero {
			errs = append(errs, fmt.Errorf("--%s = 0, must be %s", name, rangeOf(flag)))
		}
	}
	return errors.Join(errs...)
}

// CheckTexts returns an error for each flag that was given with an empty text, for example --listen "$ADDRESS" when
// ADDRESS is not set. Otherwise the flag would count as missing. "-" as the name of a file or folder is an error too,
// because stdin and stdout are used for other things.
func CheckTexts(cmd *cobra.Command) error {
	var errs []error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if flag.Value.Type() != "string" {
			return
		}
		of, _ := pflag.UnquoteUsage(flag)
		path := of == "file" || of == "folder" || of == "path"
		switch value := flag.Value.String(); {
		case path && value == "":
			errs = append(errs, fmt.Errorf("--%s = \"\", must name a %s", flag.Name, of))
		case value == "":
			errs = append(errs, fmt.Errorf("--%s = \"\", must not be empty", flag.Name))
		case path && value == "-":
			errs = append(errs, fmt.Errorf("--%s = \"-\", must name a %s, as \"./-\"", flag.Name, of))
		}
	})
	return errors.Join(errs...)
}

// CheckArguments returns an error for arguments with control characters, or with characters that change the reading
// order, such as a file name with a line break. Messages show such names, so they could forge lines of a message. A
// tab is allowed, as a separator. It returns cmd.
func CheckArguments(cmd *cobra.Command, args []string) (*cobra.Command, error) {
	for i, arg := range args {
		if strings.ContainsFunc(arg, func(c rune) bool { return c != '\t' && unicode.In(c, unicode.C, unicode.Zl, unicode.Zp) }) {
			return cmd, Usage(fmt.Errorf("argument %d = %s, must have printable characters only", i+1, message.Quoted(arg)))
		}
	}
	return cmd, nil
}

// Refuse returns an error for each of the named flags that was given. Each error is the flag and then why.
func Refuse(cmd *cobra.Command, why string, names ...string) error {
	var errs []error
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s %s", name, why))
		}
	}
	return errors.Join(errs...)
}

// RefuseWith returns an error for each of the named flags that was given together with other.
func RefuseWith(cmd *cobra.Command, other string, names ...string) error {
	return Refuse(cmd, "must not be given with --"+other, names...)
}

// FlagGiven returns the first of the named flags that the user gave. If none was given, it returns the
// first name.
func FlagGiven(cmd *cobra.Command, names ...string) string {
	return names[max(0, slices.IndexFunc(names, cmd.Flags().Changed))]
}

// GivenText returns those of the named flags that were given, as text for a command line, each with a blank before it.
func GivenText(cmd *cobra.Command, names ...string) string {
	text := ""
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		switch {
		case f == nil || !f.Changed:
		case f.Value.Type() == "bool":
			text += message.Option(name, f.Value.String() == "true")
		default:
			text += message.Option(name, f.Value.String())
		}
	}
	return text
}

// CheckWorkers returns an error if n is not a possible number of goroutines.
func CheckWorkers(n int) error {
	if n < 1 {
		return fmt.Errorf("--workers = %d, must be at least 1", n)
	}
	return nil
}
