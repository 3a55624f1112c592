package experiments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"proactivedp/internal/files"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/train"
)

// ErrNotRedrawn is wrapped by the error of [Redraw] for a figure whose stored data do not have everything that its
// picture shows. Use [Make] for such a figure: it uses the stored results of finished trainings.
var ErrNotRedrawn = errors.New("its data do not have everything that its picture shows")

// Redrawable reports whether [Redraw] can draw the figure from its stored data, without trainings.
func (fig Figure) Redrawable() bool { return fig.redraw != nil }

// Redraw draws the pictures of figures that [Make] has written to o.Out again, in the style of o.Drawing. Use it to
// change the size or the format of pictures. It reads the data and the manifest in each figure's folder, and trains
// nothing. Of the fields of o, only Out, Drawing and Load are used. Load gets the data sets, because their digests
// must be those in the manifests.
//
// Redraw returns the names of the figures that it drew. It returns an error for a figure that was never made, is
// damaged, was made with other settings or data than it would be now, or whose data this version of the program would
// write differently. Such a figure is not changed.
func Redraw(ctx context.Context, figures []Figure, o MakeOptions) ([]string, error) {
	if err := errors.Join(o.Drawing.Validate(), checkOut(o.Out), o.checkLoad()); err != nil {
		return nil, err
	}
	var drawn []string
	err := files.InFolder(o.Out, func() error {
		var errs []error
		sources := map[string]*train.Source{}
		for _, fig := range figures {
			if err := context.Cause(ctx); err != nil {
				return errors.Join(append(errs, fmt.Errorf("stopped before %s: %w", fig.Name, err))...)
			}
			if err := redraw(ctx, fig, o, sources); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", fig.Name, err))
				continue
			}
			drawn = append(drawn, fig.Name)
		}
		err := errors.Join(errs...)
		if len(drawn) == 0 || errors.Is(err, results.ErrDamaged) {
			return err // the index would report the same error
		}
		return errors.Join(err, writeIndexAgain(o.Out, figures))
	})
	return drawn, err
}

// writeIndexAgain writes the index, which names the pictures, if the folder has one.
func writeIndexAgain(dir string, figures []Figure) error {
	if ours, err := report.HoldsOurs(dir, indexFile, indexMark, "an index of figures"); err != nil || !ours {
		return nil // the file is not an index, so it is kept
	}
	return writeIndex(dir, figures)
}

func checkOut(out string) error {
	info, err := os.Stat(out)
	if err != nil {
		return fmt.Errorf("out: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("out = %q, must be a folder", out)
	}
	return nil
}

// Made returns those of the figures that the folder out already has, with a manifest.
func Made(figures []Figure, out string) []Figure {
	return slices.DeleteFunc(slices.Clone(figures), func(fig Figure) bool {
		_, err := os.Stat(filepath.Join(out, fig.Name, results.ManifestFile))
		return errors.Is(err, fs.ErrNotExist)
	})
}

func redraw(ctx context.Context, fig Figure, o MakeOptions, sources map[string]*train.Source) error {
	if fig.redraw == nil {
		return fmt.Errorf("%w (%s); make it again without redraw", ErrNotRedrawn, fig.lacks)
	}
	dir := filepath.Join(o.Out, fig.Name)
	k, err := readStored(o.Out, fig.Name)
	if err != nil {
		return err
	}
	source := sources[k.Data.Name]
	if source == nil {
		d, err := o.Load(ctx, k.Data.Name) // the name says whether it was a stand-in
		if err != nil {
			return err
		}
		source = train.NewSource(d)
		sources[k.Data.Name] = source
	}
	if got := source.Hash(); got != k.Data.SHA256 {
		return fmt.Errorf("the data set %s has the digest %.12s…, must be that of the manifest, %.12s…",
			fig.Data, got, k.Data.SHA256)
	}
	f := &figureConfig{source: source, set: fig.Data, seeds: k.Seeds, scale: k.Scale, sizes: k.Sizes, epsilon: k.Epsilon, runner: k.Runner,
		timeScale: k.TimeScale}
	out, err := fig.redraw(ctx, f, k)
	if err != nil {
		return err
	}
	if other := k.table.Differs(out.table); other != "" {
		return fmt.Errorf("%s %s, as this program would write: the figure must be made again", results.TableFile, other)
	}
	other, err := results.OtherSettings(k.config, out.config)
	if err != nil {
		return err
	}
	if other != "" {
		return fmt.Errorf("%s %s, as requested now: the figure must be made again", results.ManifestFile, other)
	}
	return k.replace(dir, fig.Title, o.Drawing, out)
}

// replace writes the pictures, and also the manifest if the style, the title or the times have changed.
func (k *storedFigure) replace(dir, title string, d results.Drawing, out *content) error {
	if k.Title == title && slices.Equal(k.Times, out.times) && reflect.DeepEqual(k.Drawing, d) && slices.Equal(k.Files, d.Files()) {
		return d.Redraw(dir, out.titled(k.Figure), nil)
	}
	k.Times = out.times
	k.Title, k.Drawing, k.Files, k.SHA256 = title, d, d.Files(), "" // results.WriteManifest sets SHA256
	return d.Redraw(dir, out.titled(k.Figure), k.Manifest)
}
