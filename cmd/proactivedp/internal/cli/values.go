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

// ErrNumber is the error for a flag whose value must be a number and is not.
var ErrNumber = errors.New("must be a number, such as 0.05 or 1e-5")

// count is the value of a flag for a whole number. It may also be written as 1e4.
type count int

// CountVar adds a flag for a whole number to f, which may be written as 10000 or 1e4.
func CountVar(f *pflag.FlagSet, p *int, name string, value int, usage string) {
	*p = value
	f.Var((*count)(p), name, usage)
}

// Set reads a value from the command line.
func (c *count) Set(text string) error {
	n, err := decimal.Count(text)
	if err == nil {
		*c = count(n)
	}
	return err
}

// String returns the number in decimal digits.
func (c *count) String() string { return strconv.Itoa(int(*c)) }

func (*count) Type() string { return "count" }

// valueErrors says, by the type of a flag, what its value must be. A count has its own error.
var valueErrors = map[string]error{
	"float64":     ErrNumber,
	"stringSlice": errors.New("must be a list, separated by commas"),
	"uint64":      errors.New("must be a whole number of at least 0, below 2^64"),
	"bool":        errors.New("must be true or false"),
}

// ranges matches the range of a number in the help of its flag.
var ranges = regexp.MustCompile(`in [\[(][^\])]*[\])]|at least [\d.]+`)

// rangeOf returns the range that the help of a numeric flag states, or "".
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

// list is the value of a flag that lists numbers, separated by commas. The first use of the flag
// replaces the default, and further uses add to the list.
type list[T int | float64] struct {
	to    *[]T
	parse func(text string) (T, error)
	show  func(T) string
	word  string // for the value in the help
	given bool
}

// NumbersVar adds a flag for a list of numbers, separated by commas, to f.
func NumbersVar(f *pflag.FlagSet, p *[]float64, name string, value []float64, usage string) {
	*p = value
	f.Var(&list[float64]{to: p, parse: parseNumber, show: decimal.Exactly, word: "numbers"}, name, usage)
}

func parseNumber(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errors.New("must be numbers, separated by commas")
	}
	return v, nil
}

// CountsVar adds a flag for a list of whole numbers, separated by commas, to f.
func CountsVar(f *pflag.FlagSet, p *[]int, name string, value []int, usage string) {
	*p = value
	f.Var(&list[int]{to: p, parse: parseCount, show: strconv.Itoa, word: "counts"}, name, usage)
}

// parseCount reads one of several whole numbers.
func parseCount(text string) (int, error) {
	n, err := decimal.Count(text)
	if err != nil {
		return 0, errors.New("must be whole numbers, such as 10000 or 1e4, separated by commas")
	}
	return n, nil
}

// Set reads a value from the command line.
func (l *list[T]) Set(text string) error {
	var all []T
	for field := range strings.SplitSeq(text, ",") {
		v, err := l.parse(strings.TrimSpace(field))
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	if l.given {
		all = append(*l.to, all...)
	}
	*l.to, l.given = all, true
	return nil
}

func (l *list[T]) String() string {
	if l.to == nil {
		return ""
	}
	texts := make([]string, len(*l.to))
	for i, v := range *l.to {
		texts[i] = l.show(v)
	}
	return strings.Join(texts, ",")
}

func (l *list[T]) Type() string { return l.word }
