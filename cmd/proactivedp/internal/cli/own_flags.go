package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/data/table"
	"proactivedp/internal/decimal"
	"proactivedp/internal/memory"
	"proactivedp/internal/numpy"
	"proactivedp/rng"
	"proactivedp/train"
)

// OwnFlags are the flags that say how to read a user's file. The program never computes their values from the
// records, because that would reveal something about them.
type OwnFlags struct {
	LabelColumn, LabelMap, normalise, test, columns, person string

	target string // bounds of the target of a regression; "" means classes

	outside Outside
	Form    train.FileForm
	Run     *data.Labels // labels of the run that a client joins, used without --label-map; nil without a run
	Mapped  *data.Affine // how the columns of the last data set were normalised; nil means that they were not
	Kinds   string       // the kinds of the columns of the last data set, in the form of table.ParseColumns

	private  train.Spec // the training for which private bounds are found, if the flags ask for them
	found    bool       // whether private bounds were found for a release
	unscaled []string   // columns of the last file with large numbers that were not normalised
}

// OwnFlagNames are the names of the flags that OwnFlags.Add adds.
var OwnFlagNames = []string{"label-column", "label-map", "normalise", "test", "columns", outsideFlag, "header-line",
	"number-format", "no-header", "zero-based", arraysFlag, imageFlag, personFlag}

const (
	personFlag = "person"
	atMostFlag = "at-most"
	arraysFlag = "arrays"
	imageFlag  = "image"
)

func (o *OwnFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.LabelColumn, "label-column", "", "`name` of the column of a CSV file that has the labels")
	f.StringVar(&o.LabelMap, "label-map", "", "labels of your own file: those of classes 0, 1 and so on, such as "+
		"no,yes or 0..9 or A..Z, or LABEL=CLASS,…; * is any other label; put a label with a comma or = in double "+
		"quotes (default for a LIBSVM file: -1 and 1, 0 and 1, or 1 and 2)")
	f.StringVar(&o.normalise, "normalise", "", "scale the columns of your own file by public constants, not taken "+
		"from the data: bounds:LOW,HIGH maps this range to [0, 1] in all columns; a CSV `file` with the header "+
		"column,low,high or column,mean,deviation has constants for each column, by its name or its number from 1, "+
		"or for several by a name such as s* (for images: mean and deviation of p/255 for each channel)")
	f.StringVar(&o.columns, "columns", "", "what columns of a CSV file hold if not numbers, in a CSV `file` with the "+
		"header column,kind,values: one-of with A|B|* (each becomes 0 or 1; * is anything else), ordered with "+
		"low|mid|high, log, date with 2000-01-31|DD.MM.YYYY, ignored, or number with 75|NA|* (75 where the field is "+
		"empty, NA or no number); s* lists all columns that begin with s; public, not taken from the data")
	f.StringVar(&o.person, personFlag, "", "`name` of the column of a CSV file that says which person a row belongs to, for train, propose and auto: with "+
		"--at-most K, a person with up to K records is protected; the column is no feature and is never printed")
	f.StringVar(&o.test, "test", "", "a second `file` with the test set; then all of --data is for training")
	OutsideVar(f, &o.outside, "clamp")
	FormVars(f, &o.Form)
}

func (o *OwnFlags) AddTarget(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.target, TargetFlag, "", "the column of labels of your own file has real numbers, which the model "+
		"linear learns: their public bounds as `LOW,HIGH`, not taken from the data, instead of --label-map")
}

// TargetFlag is the name of the flag for the bounds of regression targets, which OwnFlags.AddTarget adds.
const TargetFlag = "target-bounds"

const outsideFlag = "out-of-bounds"

// Outside is the value of --out-of-bounds: what happens to a value outside its bounds. It is "", clamp or refuse.
type Outside string

// OutsideVar adds the flag --out-of-bounds to f. usual describes its default in the help.
func OutsideVar(f *pflag.FlagSet, value *Outside, usual string) {
	f.StringVar((*string)(value), outsideFlag, "", "`what` becomes of a value outside the bounds of --normalise, or a target outside its own: clamp "+
		"replaces it by the nearer bound; refuse makes it an error, which a single record can cause and ε does not cover (default: "+
		usual+")")
}

// Check returns an error if o is neither "", clamp nor refuse.
func (o Outside) Check() error {
	if o != "" && o != "clamp" && o != refuse {
		return fmt.Errorf("--%s = %q, must be clamp or refuse", outsideFlag, string(o))
	}
	return nil
}

const refuse = "refuse"

// Set makes m clamp values outside its bounds, or refuse them, as o says. If o is "", m does not change.
func (o Outside) Set(m *data.Affine) {
	if o != "" && m != nil {
		m.Refuse = o == refuse
	}
}

// formFlags lists the flags of FormVars, except that for the shape of images, with the kinds of files that have them.
var formFlags = []struct {
	name  string
	kinds []FileKind
}{
	{"no-header", []FileKind{CSVFile}}, {"header-line", []FileKind{CSVFile}}, {"number-format", []FileKind{CSVFile}},
	{"zero-based", []FileKind{LIBSVMFile}}, {arraysFlag, []FileKind{NumPyFile, ImageFile}},
}

// FormVars adds the flags that describe the form of a file of records to f.
func FormVars(f *pflag.FlagSet, form *train.FileForm) {
	f.BoolVar(&form.NoHeader, "no-header", false, "the first line of a CSV file is a record; columns are named 1, 2, …")
	CountVar(f, &form.HeaderLine, "header-line", 0, "`number` of the line of a CSV file that names the columns; lines above "+
		"it are not read (default: the first line)")
	f.StringVar(&form.Numbers, "number-format", "", "the `number` 1234.5 as a CSV file writes it, such as 1234,5 or 1.234,5 "+
		"or 1,234.5")
	f.BoolVar(&form.ZeroBased, "zero-based", false, "indices of a LIBSVM file count from 0, not from 1")
	f.StringVar(&form.Arrays, arraysFlag, "", "`names` of the arrays of an .npz file as x=NAME,y=NAME,x_test=NAME,"+
		"y_test=NAME; y=FILE is the file of labels of an IDX file or of a file with one array (x.npy finds y.npy), and y=coarse takes "+
		"the 20 classes of CIFAR-100")
	f.StringVar(&form.Image, imageFlag, "", "`shape` of the image in each row: 28x28x1, or 3x32x32 if the channels come "+
		"first; pixels are whole numbers in [0, 255] unless --normalise bounds:LOW,HIGH says others")
	f.Lookup("header-line").DefValue = ""
}

// CheckFormOf returns an error for each flag of FormVars that was given and fits neither of two files: path has the
// data, and test has the test set or is "".
func CheckFormOf(cmd *cobra.Command, form train.FileForm, path, test string) error {
	var errs []error
	kinds := kindsOf(path, test)
	for _, flag := range formFlags {
		fits := slices.ContainsFunc(kinds, func(k FileKind) bool { return slices.Contains(flag.kinds, k) })
		if cmd.Flags().Changed(flag.name) && !fits {
			errs = append(errs, fmt.Errorf("--%s is for a %s file, and %s is %s file", flag.name, flag.kinds[0], path,
				kinds[0].withArticle()))
		}
	}
	if cmd.Flags().Changed(arraysFlag) {
		if _, err := numpy.ParseArrays(form.Arrays); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", arraysFlag, err))
		}
	}
	if cmd.Flags().Changed(imageFlag) {
		if at := slices.Index(kinds, ImageFile); at >= 0 {
			errs = append(errs, fmt.Errorf("--%s is for a file of rows, and %s has images", imageFlag, []string{path, test}[at]))
		}
		if _, err := data.ParsePixelGrid(form.Image); err != nil {
			errs = append(errs, fmt.Errorf("--%s = %w", imageFlag, err))
		}
	}
	if n := form.HeaderLine; cmd.Flags().Changed("header-line") && (n < 1 || n > table.MaxHeaderLine) {
		errs = append(errs, fmt.Errorf("--header-line = %d, must be in [1, %d]", n, table.MaxHeaderLine))
	}
	if form.NoHeader && form.HeaderLine != 0 {
		errs = append(errs, errors.New("--no-header and --header-line contradict each other: give one"))
	}
	if cmd.Flags().Changed("number-format") {
		if _, err := table.ParseNumbers(form.Numbers); err != nil {
			errs = append(errs, fmt.Errorf("--number-format = %q, %w", form.Numbers, err))
		}
	}
	return errors.Join(errs...)
}

func (o *OwnFlags) check(cmd *cobra.Command, name string) error {
	if cmd.Flags().Lookup("label-map") == nil {
		return nil
	}
	var errs []error
	for _, flag := range append(OwnFlagNames, TargetFlag) {
		if cmd.Flags().Changed(flag) && !OwnFile(name) {
			errs = append(errs, fmt.Errorf("--%s is for your own file, not for %s", flag, name))
		}
	}
	if !OwnFile(name) || len(errs) > 0 {
		return errors.Join(errs...)
	}
	kinds := kindsOf(name, o.test)
	kind, csv := kinds[0], slices.Index(kinds, CSVFile)
	switch {
	case csv >= 0 && o.LabelColumn == "":
		what := "labels"
		if o.target != "" {
			what = "targets"
		}
		errs = append(errs, fmt.Errorf("--label-column is missing, must name the column of the %s of %s", what, []string{name, o.test}[csv]))
	case csv < 0 && o.LabelColumn != "":
		errs = append(errs, fmt.Errorf("--label-column = %q is for a CSV file, and %s is %s file",
			o.LabelColumn, name, kind.withArticle()))
	}
	regression := cmd.Flags().Lookup(TargetFlag) != nil && train.IsRegression(cmd.Flags().Lookup("model").Value.String())
	switch {
	case o.target != "":
		errs = append(errs, o.checkTarget(kind, name))
	case regression:
		errs = append(errs, fmt.Errorf("--%s is missing, must give LOW,HIGH, the bounds of the numbers to learn: they are public, "+
			"and not found in the data", TargetFlag))
	case (kind != LIBSVMFile || kinds[len(kinds)-1] != kind) && o.LabelMap == "" && o.Run == nil:
		text := fmt.Sprintf("--label-map is missing, must say which labels this %s file has, such as no,yes or 0..9: that is "+
			"public, and not found in the data", kind)
		if cmd.Flags().Lookup(TargetFlag) != nil {
			text += "; to learn a number, such as a price, give --model linear and --" + TargetFlag + " LOW,HIGH"
		}
		errs = append(errs, errors.New(text))
	}
	errs = append(errs, o.outside.Check(), CheckFormOf(cmd, o.Form, name, o.test))
	if o.outside != "" && o.normalise == "" && o.target == "" {
		errs = append(errs, fmt.Errorf("--%s is for --normalise or --%s, which give the bounds", outsideFlag, TargetFlag))
	}
	if csv < 0 && o.columns != "" {
		errs = append(errs, fmt.Errorf("--columns = %q is for a CSV file, and %s is %s file", o.columns,
			name, kind.withArticle()))
	}
	if o.LabelMap != "" {
		if _, err := data.ParseLabels(o.LabelMap); err != nil {
			errs = append(errs, errors.New(strings.ReplaceAll(err.Error(), "label map:", "--label-map:")))
		}
	}
	return errors.Join(errs...)
}

// checkTarget returns an error if the bounds of a target are wrong or do not fit the file.
func (o *OwnFlags) checkTarget(kind FileKind, name string) error {
	var errs []error
	if _, err := data.ParseTargetBounds(o.target); err != nil {
		errs = append(errs, fmt.Errorf("--%s: %w", TargetFlag, err))
	}
	if o.LabelMap != "" {
		errs = append(errs, fmt.Errorf("--%s is for numbers and --label-map for labels: give one", TargetFlag))
	}
	if kind == ImageFile || o.Form.Image != "" {
		errs = append(errs, fmt.Errorf("--%s is for rows, and %s has images", TargetFlag, name))
	}
	return errors.Join(errs...)
}

func (o *OwnFlags) targets() *data.TargetBounds {
	b, err := data.ParseTargetBounds(o.target)
	if o.target == "" || err != nil { // see checkTarget
		return nil
	}
	b.Refuse = o.outside == refuse
	return &b
}

// personsRefused returns the error for a flag of persons in a command that does not take them. It says why.
func personsRefused(cmd *cobra.Command, flag string) error {
	why := "here, ε is for a record"
	if cmd.Name() == "join" {
		why = "clients that hold records of one person do not know of each other; one row for each person needs no such flag"
	}
	return fmt.Errorf("--%s is for train, propose and auto: %s", flag, why)
}

// checkPersons returns an error unless there is both a column of persons and a number of records, or neither.
func (o *OwnFlags) checkPersons(cmd *cobra.Command, s train.Spec, name string) error {
	switch {
	case o.person == "" && s.AtMost == 0:
		return nil
	case o.person != "" && cmd.Flags().Lookup(atMostFlag) == nil:
		return personsRefused(cmd, personFlag)
	case o.person != "" && KindOf(name) != CSVFile:
		return fmt.Errorf("--%s = %q is for a CSV file, and %s is %s file", personFlag, o.person, name, KindOf(name).withArticle())
	case o.person == o.LabelColumn && o.person != "":
		return fmt.Errorf("--%s = %q, must not be the column of the labels", personFlag, o.person)
	case o.person == "":
		return fmt.Errorf("--%s is missing, must name the column that says which person a row belongs to: --%s = %d", personFlag,
			atMostFlag, s.AtMost)
	case s.AtMost == 0:
		return fmt.Errorf("--%s is missing, must be the largest number of records of a person that are used: the ε is for a "+
			"person with up to so many", atMostFlag)
	}
	return nil
}

// OwnText returns the flags about a user's own file that were given to cmd, as GivenText does.
func OwnText(cmd *cobra.Command) string { return GivenText(cmd, append(OwnFlagNames, TargetFlag)...) }

// labels returns the label map, the labels of the run, or nil if there are neither.
func (o *OwnFlags) labels() (*data.Labels, error) {
	if o.LabelMap == "" {
		return o.Run, nil
	}
	return data.ParseLabels(o.LabelMap)
}

// read reads a file of so many features, 0 for any, within the memory.
func (o *OwnFlags) read(path string, features int, l fetch.Locator) (*data.Dataset, error) {
	limit := l.Memory
	// The numbers of a large file are nearly all that is in memory. The garbage from reading lines could take
	// as much again before it is collected. The numbers have no pointers, so that collecting often takes no time.
	defer debug.SetGCPercent(debug.SetGCPercent(readingGC))
	labels, err := o.labels()
	if err != nil {
		return nil, Usage(err)
	}
	kind := KindOf(path)
	var pixels data.PixelRange
	if o.Form.Pixels = ""; strings.HasPrefix(o.normalise, boundsPrefix) {
		o.Form.Pixels = o.normalise[len(boundsPrefix):]
		if o.Form.PixelKind, err = pixelKind(path, o.Form); err != nil {
			return nil, Usage(err)
		}
		if pixels, err = PixelRangeOf(o.Form, o.outside, path); err != nil {
			return nil, Usage(fmt.Errorf("--normalise = %q: %w", o.normalise, err))
		}
	}
	if grid, err := data.ParsePixelGrid(o.Form.Image); err == nil && features == 0 {
		features = grid.Size()
	}
	var columns *table.Columns
	if kind == CSVFile || o.test != "" && KindOf(o.test) == CSVFile {
		if columns, err = o.readColumns(); err != nil {
			return nil, err
		}
	}
	read := Reading{Form: o.Form, Pixels: pixels, Options: table.Options{Label: o.LabelColumn, Labels: labels, Target: o.targets(),
		Columns: columns, Features: features, Test: o.test, Person: o.person,
		Saturate: o.normalise != "" || o.private.BoundsEpsilon > 0, Memory: limit, Progress: l.Progress}}
	if read.Arrays, err = ArraysOf(o.Form); err != nil {
		return nil, Usage(err)
	}
	mixed := o.test != "" && KindOf(o.test) != kind
	if mixed {
		read.Test = ""
	}
	d, err := o.file(path, read)
	if err == nil && mixed {
		d, err = o.withTest(d, read)
	}
	if errors.Is(err, data.ErrTarget) && o.outside == refuse {
		err = fmt.Errorf("%w\n--%s clamp makes a number outside the bounds the nearer bound", err, outsideFlag)
	}
	if errors.Is(err, data.ErrPixel) {
		err = fmt.Errorf("%w\n--normalise %sLOW,HIGH says which numbers are the darkest and the brightest pixel; "+
			"x.reshape(len(x), -1) makes rows of arrays that are no images", err, boundsPrefix)
	}
	if err != nil {
		return nil, err
	}
	if t := d.Targets; t != nil {
		d.Note = fmt.Sprintf("targets are scaled from the bounds [%v, %v] to [-1, 1]; the bounds must be public", t.Bounds.Low, t.Bounds.High)
		if !t.Bounds.Refuse {
			d.Note += ", and targets outside of them are clamped to them"
		}
	}
	if d.Images != nil {
		o.unscaled, o.Mapped = nil, nil
		return d, o.normalisePixels(d)
	}
	o.Form.Pixels, o.Form.PixelKind = "", ""
	if o.private.BoundsEpsilon > 0 {
		return o.privately(d, columns, limit)
	}
	if o.normalise == "" {
		o.unscaled = nil
		for _, j := range d.Large() {
			name := d.ColumnName(j)
			if d.Columns == nil {
				name = "column " + name
			}
			o.unscaled = append(o.unscaled, name)
		}
		return d, nil
	}
	m, err := o.constants(d, columns)
	if err != nil {
		return nil, err
	}
	if err := fitsMapped(d, m, limit); err != nil {
		return nil, err
	}
	o.outside.Set(&m)
	if d, err = d.MappedInPlace(m); err != nil {
		if m.Refuse {
			err = fmt.Errorf("%w\n--%s clamp makes a value outside the bounds the nearer bound", err, outsideFlag)
		}
		return nil, err
	}
	o.Mapped = &m
	clamped := ""
	if m.Clamps() {
		clamped = clampedNote
	}
	d.Note = notes(normalisedNote, clamped, d.Note)
	return d, nil
}

// file reads a file without normalising it.
func (o *OwnFlags) file(path string, r Reading) (*data.Dataset, error) {
	d, err := r.File(path)
	if errors.Is(err, table.ErrNoNumber) {
		err = fmt.Errorf("%w\n--columns FILE says what is in columns that are not numbers: CSV with the header "+
			"column,kind,values and lines such as sex,one-of,F|M|* and weight,number,75|NA, where 75 is what an "+
			"empty field and NA stand for, day,date,2000-01-31, and id,ignored,", err)
	}
	if err == nil && o.Form.Image != "" {
		d, err = Pictures(d, o.Form, r.Pixels, r.Memory)
	}
	return d, err
}

// withTest reads the test set from a file of another kind than that of d, and returns both.
func (o *OwnFlags) withTest(d *data.Dataset, r Reading) (*data.Dataset, error) {
	if d.Images != nil && o.Form.Pixels != "" {
		return nil, Usage(fmt.Errorf("--normalise %s%s is for pixels, and --test = %s must be of the same kind of file as %s",
			boundsPrefix, o.Form.Pixels, o.test, d.Name))
	}
	if r.Features = d.Features; d.Images != nil && o.Form.Image == "" {
		r.Features = 0 // the shapes are compared
	}
	test, err := o.file(o.test, r)
	if err != nil {
		return nil, err
	}
	size := 8 * int64(len(d.Value)+test.Len()*d.Features) // 8 bytes for an entry
	switch {
	case d.Images != nil:
		size = int64(len(d.Images.Pixels) + test.Len()*d.Features)
	case !d.Dense() && !test.Dense():
		size = 8 * int64(len(d.Value)+len(test.Value))
	}
	if err := memory.Given(r.Memory).Check(size); err != nil {
		return nil, fmt.Errorf("--test: %w", err)
	}
	if d, err = d.WithTest(test); err != nil {
		return nil, fmt.Errorf("--test: %w", err)
	}
	return d, nil
}

// privately normalises the columns that hold numbers by bounds that are found with noise. The noise is drawn from the
// run of the seed (--run) or, in a release, from the operating system. So the bounds of two runs share no noise, which
// their ε together assumes.
func (o *OwnFlags) privately(d *data.Dataset, c *table.Columns, limit int64) (*data.Dataset, error) {
	root := rng.New(o.private.Seed).ForRun(o.private.Run)
	if o.private.SeedFromOS {
		if o.found {
			return nil, errors.New("--bounds: the bounds were found before, and finding them again would cost their ε again")
		}
		o.found = true
		var err error
		if root, err = rng.NewFromOS(); err != nil {
			return nil, err
		}
	}
	m, hidden, err := d.PrivateBounds(o.private.BoundsEpsilon, func(j int) bool { return c.Is01(d, j) },
		root.Stream(rng.Bounds, 0, 0))
	if err != nil {
		return nil, fmt.Errorf("--bounds: %w", err)
	}
	if err := fitsMapped(d, m, limit); err != nil {
		return nil, err
	}
	if d, err = d.MappedInPlace(m); err != nil {
		return nil, err
	}
	o.Mapped = &m
	guessed := ""
	if hidden > 0 {
		guessed = fmt.Sprintf("the noise hid the numbers of %s, whose bounds are a guess: a larger ε finds them",
			decimal.Many(hidden, "column"))
	}
	d.Note = notes(fmt.Sprintf("normalised by bounds that were found with ε = %v (--bounds), by discrete Laplace noise",
		o.private.BoundsEpsilon), clampedNote, guessed, d.Note)
	return d, nil
}

// sayUnscaled warns before a budget is spent that columns with large numbers were read without
// --normalise: the model may learn from such a column only. The warning goes to the terminal of the
// person who has the records, and not into a report.
func (o *OwnFlags) sayUnscaled(cmd *cobra.Command, path string) {
	if len(o.unscaled) == 0 {
		return
	}
	Say(cmd, "the numbers of %s of %s are taken as they stand, such as %.40s: large ones outweigh all else in a "+
		"gradient that is clipped; --normalise takes columns to [0, 1] by public bounds",
		decimal.Many(len(o.unscaled), "column"), path, o.unscaled[0])
}

// These are the notes for data that were read with --normalise, and for values that were clamped.
const (
	normalisedNote = "normalised by constants that were given (--normalise), which must be public"
	clampedNote    = "values outside of the bounds are clamped to them"
)

// readColumns returns the columns that --columns describes, without the one of persons, or nil if there is
// nothing to say about columns.
func (o *OwnFlags) readColumns() (c *table.Columns, err error) {
	if o.columns != "" {
		if c, err = table.ReadColumns(o.columns); err != nil {
			return nil, Usage(fmt.Errorf("--columns: %w", err))
		}
	}
	if o.person != "" {
		if c, err = c.Ignoring(o.person); err != nil {
			return nil, Usage(fmt.Errorf("--%s: %w", personFlag, err))
		}
	}
	if c != nil {
		o.Kinds = c.Text()
	}
	return c, nil
}

// readingGC is GOGC while a file is read: the garbage in memory, in percent of the live data.
const readingGC = 20

// fitsMapped reports that rows do not fit the memory once they are mapped.
func fitsMapped(d *data.Dataset, m data.Affine, limit int64) error {
	if !m.Dense() || d.Dense() {
		return nil // in place
	}
	values := int64(d.Len()) * int64(d.Features)
	if err := memory.Given(limit).Check(4 * values); err != nil {
		return fmt.Errorf("--normalise: %w", err)
	}
	return nil
}

const boundsPrefix = "bounds:"

// constants returns the map of columns that --normalise asks for.
func (o *OwnFlags) constants(d *data.Dataset, c *table.Columns) (data.Affine, error) {
	if list, ok := strings.CutPrefix(o.normalise, boundsPrefix); ok {
		m, err := table.Bounds(list, d, c)
		if err != nil {
			return m, Usage(fmt.Errorf("--normalise = %q: %w", o.normalise, err))
		}
		return m, nil
	}
	m, err := table.ReadConstants(o.normalise, d, c)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("--normalise = %s: no such file; it takes a file with the header column,low,high or "+
			"column,mean,deviation, or bounds:LOW,HIGH, all of them public: nothing is computed from the records", o.normalise)
	}
	if err != nil {
		return m, fmt.Errorf("--normalise: %w", err)
	}
	return m, nil
}
