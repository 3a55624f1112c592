package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"proactivedp/internal/decimal"
)

// ErrNumber says what a number looks like.
var ErrNumber = errors.New("must be a number, such as 0.05 or 1e-5")

// count is the value of a flag that counts: a whole number, which may be written
// as 1e4, too.
type count int

// CountVar gives f a flag for a whole number.
func CountVar(f *pflag.FlagSet, p *int, name string, value int, usage string) {
	*p = value
	f.Var((*count)(p), name, usage)
}

// Set reads what was given.
func (c *count) Set(text string) error {
	n, err := decimal.Count(text)
	if err == nil {
		*c = count(n)
	}
	return err
}

// String returns the number in decimal digits.
func (c *count) String() string { return strconv.Itoa(int(*c)) }

// Type is the word for the value in the help.
func (*count) Type() string { return "count" }

// valueErrors say what the values of a flag's type must be. A count says so itself.
var valueErrors = map[string]error{
	"float64":     ErrNumber,
	"stringSlice": errors.New("must be a list, separated by commas"),
	"uint64":      errors.New("must be a whole number of at least 0, below 2^64"),
	"bool":        errors.New("must be true or false"),
}

// ranges matches the range of a number in the help of its flag.
var ranges = regexp.MustCompile(`in [\[(][^\])]*[\])]|at least [\d.]+|above √2, or at least [\d.]+ by another method`)

// rangeOf returns the range of a number as the help of its flag has it; "" if it has none.
func rangeOf(flag *pflag.Flag) string { return ranges.FindString(flag.Usage) }

// valueError returns what is wrong with the value of a flag.
func valueError(bad *pflag.InvalidValueError) error {
	cause := bad.Unwrap()
	if known, ok := valueErrors[bad.GetFlag().Value.Type()]; ok {
		cause = known
	}
	allowed := ""
	if bad.GetFlag().Value.Type() == (*count)(nil).Type() {
		if in := rangeOf(bad.GetFlag()); in != "" {
			allowed = ", " + in
		}
	}
	return fmt.Errorf("--%s = %q, %w%s", bad.GetFlag().Name, bad.GetValue(), cause, allowed)
}

// numbers is the value of a flag that lists numbers, separated by commas. The
// first that is given takes the place of the default, the next are added.
type numbers struct {
	to    *[]float64
	given bool
}

// NumbersVar gives f a flag for numbers.
func NumbersVar(f *pflag.FlagSet, p *[]float64, name string, value []float64, usage string) {
	*p = value
	f.Var(&numbers{to: p}, name, usage)
}

// Set reads what was given.
func (n *numbers) Set(text string) error {
	var list []float64
	for field := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return errors.New("must be numbers, separated by commas")
		}
		list = append(list, v)
	}
	if n.given {
		list = append(*n.to, list...)
	}
	*n.to, n.given = list, true
	return nil
}

// String returns the list as it may be given.
func (n *numbers) String() string {
	if n.to == nil {
		return ""
	}
	texts := make([]string, len(*n.to))
	for i, v := range *n.to {
		texts[i] = decimal.Exactly(v)
	}
	return strings.Join(texts, ",")
}

// Type is the word for the value in the help.
func (*numbers) Type() string { return "numbers" }
