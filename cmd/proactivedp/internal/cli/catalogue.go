package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/data"
	"proactivedp/data/cifar10"
	"proactivedp/data/fetch"
	"proactivedp/data/libsvm"
	"proactivedp/data/mnist"
	"proactivedp/data/synth"
	"proactivedp/internal/memory"
	"proactivedp/internal/message"
	"proactivedp/rng"
)

// StandInSeed is the seed from which the synthetic data sets are drawn. It is fixed, so that all users get the same
// data.
const StandInSeed = 1

// Published is a data set that can be fetched and verified.
type Published struct {
	Name  string
	About []string // lines with its size, citation, licence and sources
	Load  func(context.Context, fetch.Locator) (*data.Dataset, error)
}

// Catalogue returns the published data sets.
func Catalogue() []Published {
	var all []Published
	for _, k := range libsvm.Catalogue() {
		size := fmt.Sprintf("%d rows, %d features, labels %v", k.Rows, k.Features, k.LabelCounts)
		all = append(all, Published{k.Name, append([]string{size, k.Citation, k.Licence}, k.Sources...),
			func(ctx context.Context, l fetch.Locator) (*data.Dataset, error) { return libsvm.Load(ctx, k.Name, l) }})
	}
	images := func(train, test int, shape string) string {
		return fmt.Sprintf("%d images for training and %d for the test, %s pixels", train, test, shape)
	}
	for _, k := range mnist.Catalogue() {
		about := append([]string{images(mnist.Train, mnist.Test, "1×28×28"), k.Citation, k.Licence}, k.Sources...)
		all = append(all, Published{k.Name, about, func(ctx context.Context, l fetch.Locator) (*data.Dataset, error) {
			return mnist.LoadNamed(ctx, k.Name, l)
		}})
	}
	return append(all, Published{cifar10.Name, append([]string{images(cifar10.Train, cifar10.Test, "3×32×32"),
		cifar10.Citation, cifar10.Licence}, cifar10.Sources()...), cifar10.Load})
}

// PublishedNames returns the names of the published data sets, as Catalogue lists them.
func PublishedNames() []string {
	var names []string
	for _, p := range Catalogue() {
		names = append(names, p.Name)
	}
	return names
}

// AllDataNames returns the names of the published data sets, and of the synthetic sets that can replace them.
func AllDataNames() []string { return slices.Concat(PublishedNames(), synth.Names()) }

// Obtain returns the data set with this name, published or synthetic, or the one in the file at this path. It must
// have the given number of features; 0 accepts any. own says how to read a user's file, and l where to look for a
// published set.
func Obtain(ctx context.Context, name string, features int, own *OwnFlags, l fetch.Locator) (*data.Dataset, error) {
	d, err := found(ctx, name, features, own, l)
	if errors.Is(err, memory.ErrTooLittle) {
		err = fmt.Errorf("data set %s: %w", name, err)
	}
	return d, err
}

func found(ctx context.Context, name string, features int, own *OwnFlags, l fetch.Locator) (*data.Dataset, error) {
	for _, p := range Catalogue() {
		if p.Name == name {
			return p.Load(ctx, l)
		}
	}
	if synth.Is(name) {
		return standIn(ctx, name, l.Memory)
	}
	return own.read(name, features, l)
}

// standIn draws a synthetic data set, if it fits the memory.
func standIn(ctx context.Context, name string, limit int64) (*data.Dataset, error) {
	n, err := synth.Bytes(name)
	if err == nil {
		err = memory.Given(limit).Check(n)
	}
	if err != nil {
		return nil, err
	}
	return Draw(ctx, name)
}

// Draw draws the synthetic data set with this name, by the function that WithDraw has put into ctx, if any.
func Draw(ctx context.Context, name string) (*data.Dataset, error) {
	if draw, ok := ctx.Value(drawKey{}).(func(string) (*data.Dataset, error)); ok {
		return draw(name)
	}
	return synth.Make(name, rng.New(StandInSeed))
}

type drawKey struct{}

// WithDraw returns a context in which Draw calls draw. Tests need the same sets in hundreds of commands.
func WithDraw(ctx context.Context, draw func(name string) (*data.Dataset, error)) context.Context {
	return context.WithValue(ctx, drawKey{}, draw)
}

// OwnFile reports whether name is the path of a user's file. Otherwise it is the name of a data set.
func OwnFile(name string) bool {
	return name != "" && !synth.Is(name) && !slices.Contains(PublishedNames(), name)
}

// maxDataName bounds the name of a file of data, in bytes.
const maxDataName = 4096

// CheckData returns an error if name is neither a data set nor a file. It loads nothing.
func CheckData(name string) error {
	switch {
	case slices.Contains(PublishedNames(), name):
		return nil
	case synth.Is(name):
		return synth.Check(name)
	}
	if err := message.CheckText("data", name, maxDataName); err != nil {
		return err
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if filepath.Ext(name) != "" || strings.ContainsRune(name, filepath.Separator) {
			return fmt.Errorf("data = %q: no such file (proactivedp data list names the data sets)", name)
		}
		return fmt.Errorf("data = %q, must be one of %s, or an existing LIBSVM file, or CSV, or .npz%s", name,
			strings.Join(AllDataNames(), ", "), message.Meant(name, AllDataNames()))
	}
	return checkReadable(name)
}
