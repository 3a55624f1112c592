package train

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"proactivedp/data"
	"proactivedp/data/scatter"
	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/memory"
	"proactivedp/internal/sealed"
	"proactivedp/internal/strictjson"
	"proactivedp/models"
	"proactivedp/sim"
)

// savedFormat is the format of the file of a trained model: magic, version, a [Saved] as JSON, the
// parameters as little-endian float32, and the SHA-256 of everything before. See package
// internal/sealed.
var savedFormat = sealed.Format{Magic: "proactivedp model\n", Version: 1, Name: "model"}

// Inputs describes the records on which a model was trained, as they were in their file: how to read a file, and how
// to prepare its records in the same way. A saved model contains Inputs, so that it can be used on other files.
type Inputs struct {
	Features int         `json:"features"`
	Columns  []string    `json:"columns,omitempty"` // names of the features; absent if they had none
	Images   *ImageShape `json:"images,omitempty"`  // absent if the records were rows
	Labels   []string    `json:"labels"`            // the label of each class
	// Target has the public bounds of the targets of a model of regression, which has no labels.
	Target *data.TargetBounds `json:"target_bounds,omitempty"`
	// Map is the user's map from the labels in a file to classes, in the text form of data.ParseLabels. It is absent
	// if the file was in LIBSVM form with two classes: those have fixed labels, see package data/libsvm.
	Map string `json:"label_map,omitempty"`
	// Mapped has the constants by which each column was normalised. It is absent if the columns were not normalised.
	Mapped *data.Affine `json:"normalised,omitempty"`
	// Kinds says which columns of a CSV file were text, dates or other kinds than numbers, in the text form of
	// table.ParseColumns. It is absent if all were numbers.
	Kinds string `json:"column_kinds,omitempty"`
	// LabelColumn is the name of the column of a CSV file that had the labels or targets. A file whose labels are to
	// be predicted may have this column or not.
	LabelColumn string `json:"label_column,omitempty"`
	// Form says how the file was read, where that differs from the default. Files whose labels are to be predicted are
	// read in the same form, unless an option says otherwise.
	Form FileForm `json:"form,omitzero"`
}

// FileForm says how to read a file of records (CSV, LIBSVM, arrays or images), where that differs from how the
// program reads such files by default. A zero field means the default.
type FileForm struct {
	NoHeader   bool   `json:"no_header,omitempty"`     // the first line of a CSV file is a record
	HeaderLine int    `json:"header_line,omitempty"`   // the line of a CSV file with the names of the columns
	Numbers    string `json:"number_format,omitempty"` // how numbers are written, see table.ParseNumbers
	ZeroBased  bool   `json:"zero_based,omitempty"`    // indices of a LIBSVM file count from 0
	Arrays     string `json:"arrays,omitempty"`        // names of the arrays in a NumPy archive, see numpy.ParseArrays
	Image      string `json:"image,omitempty"`         // shape of the image that a row is, see data.ParsePixelGrid
	// Pixels says which numbers in a file of images stand for the darkest and the brightest pixel, as LOW,HIGH,
	// see data.ParseBounds. PixelKind is the kind of the training file, such as NumPy with whole numbers. If
	// Pixels is set, a file of another kind is refused, because its numbers may have another range.
	Pixels    string `json:"pixels,omitempty"`
	PixelKind string `json:"pixel_kind,omitempty"`
}

// LabelMap returns in.Map in parsed form. It maps the labels of a file, such as "yes", to the classes 0, 1, … of the
// model. It returns nil if in.Map is "", as for a LIBSVM file with two classes.
func (in Inputs) LabelMap() (*data.Labels, error) {
	if in.Map == "" {
		return nil, nil
	}
	return data.ParseLabels(in.Map)
}

// ImageShape describes the images that a model takes: their shape, and the constants Mean and Std of each channel by
// which pixels are normalised, see data.Images.
type ImageShape struct {
	Channels int       `json:"channels"`
	Height   int       `json:"height"`
	Width    int       `json:"width"`
	Mean     []float32 `json:"mean"`
	Std      []float32 `json:"std"`
}

// NewInputs returns the Inputs to save with a model that was trained on d. labels is the user's map from labels to
// classes in the text form of data.ParseLabels, or "" if there was none. mapped has the constants by which the
// columns were normalised, or is nil if they were not. The caller sets the fields Kinds, LabelColumn and Form.
func NewInputs(d *data.Dataset, labels string, mapped *data.Affine) Inputs {
	in := Inputs{Features: d.Features, Columns: slices.Clone(d.Columns), Labels: classNames(d), Map: labels,
		Mapped: mapped}
	if t := d.Targets; t != nil {
		in.Labels, in.Target = []string{}, &t.Bounds
	}
	if m := d.Images; m != nil {
		in.Images = &ImageShape{m.Channels, m.Height, m.Width, m.Mean, m.Std}
	}
	return in
}

// classNames returns the label of each class of a data set; without names that is its number.
func classNames(d *data.Dataset) []string {
	labels := slices.Clone(d.Names)
	for class := len(labels); class < d.Classes; class++ {
		labels = append(labels, fmt.Sprint(class))
	}
	return labels
}

// Read returns the data set of the run as it was given to [NewSource] or [Spec.Prepare]: before image features were
// computed (Spec.FeatureMap) and before inputs were scaled (Spec.InputScale). p.Test has the records after these
// steps.
func (p *Prepared) Read() *data.Dataset { return p.source.Data() }

// Source returns the [Source] from which the run was prepared. Use it to prepare other specs on the same data.
func (p *Prepared) Source() *Source { return p.source }

// Saved is a trained model as it is stored in a file: its parameters, the settings of its training, the form of its
// inputs, and its privacy guarantee. Use [Report.Save] to write one and [OpenModel] to read one.
type Saved struct {
	Spec   Spec   `json:"config"`
	Inputs Inputs `json:"inputs"`
	// DataSHA256 is the digest of the training records. It is "" in the file of a model with secret noise, see
	// [Saved.Write].
	DataSHA256 string   `json:"data_sha256"`
	Synthetic  bool     `json:"synthetic_data,omitempty"` // whether the data was generated, see data.Dataset
	DataNote   string   `json:"data_note,omitempty"`      // what else a reader must know about the data
	Notes      []string `json:"notes,omitempty"`          // sentences that a reader of the training's results must know
	// Averaged is Spec.Average, if the parameters are the mean of several global models. It is "" if they are those
	// of the last global model.
	Averaged     string       `json:"averaged,omitempty"`
	Lambda       float64      `json:"lambda,omitempty"` // the ridge penalty λ of the training, if it had one
	Params       int          `json:"params"`           // number of parameters
	ParamsSHA256 string       `json:"params_sha256"`    // digest of the parameters
	Privacy      claim.Report `json:"privacy"`          // the guarantee of the training
	// Releases lists rounds that cost a record at least as much as the training did (see Report.Releases). With them,
	// an accountant can compose the training with other releases of the same records.
	Releases []dp.Release `json:"releases"`
	// Statement is the privacy statement of a model that was trained in several stages, each chosen by the
	// results of the stages before. For such a model, Privacy has only the budget that limits all stages
	// together. For other models Statement is "".
	Statement string `json:"statement,omitempty"`

	params []float32
	model  models.Model
}

// Attach gives a report that was read from JSON its model, for [Report.Save]. It is an error if params are not the
// parameters that the report states (ParamsSHA256).
func (r *Report) Attach(params []float32) error {
	if err := r.made(); err != nil {
		return err
	}
	if got := (&sim.Result{Params: params}).ParamsSHA256(); got != r.ParamsSHA256 {
		return fmt.Errorf("the model has the digest %s, its report %s", got, r.ParamsSHA256)
	}
	r.params = params
	return nil
}

// Save writes the trained model to the file path, which [OpenModel] reads. The model is the averaged one if
// Spec.Average asks for one, and otherwise the last global model. in describes the records that the model takes, see
// [NewInputs]. If Save returns an error, it has written nothing.
func (r *Report) Save(path string, in Inputs) error {
	if err := r.made(); err != nil {
		return err
	}
	if r.params == nil {
		return errors.New("save: the report has no model")
	}
	s := Saved{
		Spec: r.Spec, Inputs: in, DataSHA256: r.DataSHA256, Synthetic: r.Synthetic, DataNote: r.DataNote,
		Notes: r.Notes, Privacy: r.Privacy, Releases: r.Releases,
	}
	if r.Averaged != nil {
		s.Averaged = r.Averaged.Rule
	}
	return s.Write(path, r.params)
}

// Write writes the model with the header s and the parameters params to the file path, completely or not at all. Use
// [Report.Save] if there is a report. Write fills in the fields of the header that follow from the others and from
// params: Params, ParamsSHA256, Lambda and the options of Spec.FeatureMap.
//
// The file has the digest DataSHA256 of the training records only if the noise comes from a seed that is a known
// number, so that anyone can subtract the noise and nothing is protected anyway. In other files, the digest would harm
// privacy: somebody who knows all records except one could check guesses of the last one. (ε, δ) does not cover that.
func (s Saved) Write(path string, params []float32) error {
	// If no releases are listed, nobody knows where the noise comes from.
	other := func(r dp.Release) bool { return !r.Noise.Simulated() }
	if len(s.Releases) == 0 || slices.ContainsFunc(s.Releases, other) {
		s.DataSHA256 = ""
	}
	s.Params, s.ParamsSHA256 = len(params), (&sim.Result{Params: params}).ParamsSHA256()
	if s.Spec.Model == Ridge {
		s.Lambda = s.Spec.lambda(s.Privacy.PerClient.DatasetSize)
	}
	var err error
	if s.Spec.FeatureMap, err = s.recipe(); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	header, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	return writeHeader(path, header, params)
}

// recipe returns the model's features with all options, also those that have their defaults. A model
// then means the same after a default has changed.
func (s Saved) recipe() (string, error) {
	if !s.Spec.Scattered() {
		return s.Spec.FeatureMap, nil
	}
	m, err := scatter.Parse(s.Spec.FeatureMap)
	if err != nil {
		return "", err
	}
	d, err := s.read()
	if err != nil {
		return "", err
	}
	m, err = m.For(d)
	return m.String(), err
}

func writeHeader(path string, header []byte, params []float32) error {
	return files.Write(path, func(w io.Writer) error {
		return savedFormat.Write(w, header, nil, func(w io.Writer) error {
			return binary.Write(w, binary.LittleEndian, params)
		})
	})
}

// OpenModel reads a model that [Report.Save] or [Saved.Write] wrote, with its parameters. It returns an error if the
// file is damaged, if its header is inconsistent, or if this program does not know the model.
func OpenModel(path string) (*Saved, error) {
	f, err := bounded.Regular(path)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	s, err := readSaved(f)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", path, err)
	}
	return s, nil
}

func readSaved(f *os.File) (*Saved, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	header, content, err := savedFormat.Open(f, info.Size(), nil)
	if err != nil {
		return nil, err
	}
	var s Saved
	if err := strictjson.Decode(header, &s); err != nil {
		return nil, err
	}
	s.Privacy = s.Privacy.Current()
	if err := s.checkText(); err != nil {
		return nil, err
	}
	if err := s.check(content.Size()); err != nil {
		return nil, err
	}
	if err := memory.Known().Check(content.Size()); err != nil {
		return nil, err
	}
	s.params = make([]float32, s.Params)
	if err := binary.Read(content, binary.LittleEndian, s.params); err != nil {
		return nil, err
	}
	if got := (&sim.Result{Params: s.params}).ParamsSHA256(); got != s.ParamsSHA256 {
		return nil, fmt.Errorf("params_sha256 = %s, but the parameters have %s", s.ParamsSHA256, got)
	}
	return &s, models.CheckFinite(s.params)
}

// checkText returns an error if a text in the header has control characters, which could hide other
// text when it is printed. Only the statement and the kinds of columns may have several lines.
// table.ParseColumns checks the names and values in the kinds.
func (s Saved) checkText() error {
	s.Statement, s.Inputs.Kinds = "", ""
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return strictjson.Check(text, false)
}

// check builds the model. It returns an error if the header contradicts itself, or if it does not
// fit size, the size of the parameters in bytes.
func (s *Saved) check(size int64) error {
	in := s.Inputs
	kind, err := kindOf(s.Spec.Model)
	if err != nil {
		return err
	}
	if IsRegression(s.Spec.Model) != (in.Target != nil) || in.Target != nil && (len(in.Labels) > 0 || in.Map != "") {
		return fmt.Errorf("inputs have %d labels, label map = %q and bounds of targets = %v, must have labels or bounds, as the "+
			"model %s needs", len(in.Labels), in.Map, in.Target, s.Spec.Model)
	}
	if in.Target != nil {
		if err := in.Target.Check(); err != nil {
			return err
		}
	}
	if in.Target == nil && len(in.Labels) < 2 || len(in.Labels) > data.MaxClasses || in.Features < 1 || in.Features > math.MaxInt32-1 ||
		in.Columns != nil && len(in.Columns) != in.Features {
		return fmt.Errorf("inputs have %d features with %d names and %d classes, must have at least one feature and two classes",
			in.Features, len(in.Columns), len(in.Labels))
	}
	if l, err := in.LabelMap(); err != nil {
		return err
	} else if l != nil && len(l.Names()) != len(in.Labels) {
		return fmt.Errorf("label map %.200q has %d classes, must have %d", in.Map, len(l.Names()), len(in.Labels))
	}
	if m := in.Mapped; m != nil && (len(m.Scale) != in.Features || len(m.Shift) != in.Features ||
		m.Low != nil && len(m.Low) != in.Features || len(m.Low) != len(m.High)) {
		return fmt.Errorf("constants for %d columns, must be for all %d", len(m.Scale), in.Features)
	}
	if s.Params < 1 || int64(s.Params) > math.MaxInt64/4 || size != 4*int64(s.Params) {
		return fmt.Errorf("%d parameters in %d bytes, must be four bytes for each", s.Params, size)
	}
	like, err := s.like()
	if err != nil {
		return err
	}
	if s.model, err = kind.build(like, s.Lambda); err != nil {
		return err
	}
	if n := s.model.NumParams(); n != s.Params {
		return fmt.Errorf("parameters = %d, must be %d for %s on %s in %d classes", s.Params, n, s.Spec.Model,
			like.Shape(), len(in.Labels))
	}
	return nil
}

// like returns an empty data set with the shape of the model's inputs.
func (s *Saved) like() (*data.Dataset, error) {
	d, err := s.read()
	if err != nil || s.Spec.FeatureMap == "" {
		return d, err
	}
	return NewSource(d).shown(inputs{features: s.Spec.FeatureMap})
}

// read returns an empty data set with the shape of the records, before features are computed.
func (s *Saved) read() (*data.Dataset, error) {
	in := s.Inputs
	d := &data.Dataset{Name: s.Spec.Data, Features: in.Features, Classes: len(in.Labels), Start: []int{0}}
	if in.Target != nil {
		d.Classes, d.Targets = 1, &data.Targets{Bounds: *in.Target}
	}
	if m := in.Images; m != nil {
		d.Start, d.Images = nil, &data.Images{Channels: m.Channels, Height: m.Height, Width: m.Width, Mean: m.Mean,
			Std: m.Std}
		if m.Channels < 1 || m.Height < 1 || m.Width < 1 || m.Channels > maxSide || m.Height > maxSide ||
			m.Width > maxSide || d.Images.Size() != in.Features || len(m.Mean) != m.Channels ||
			len(m.Std) != m.Channels {
			return nil, fmt.Errorf("images have %d×%d×%d pixels, but there are %d features", m.Channels, m.Height, m.Width,
				in.Features)
		}
	}
	return d, nil
}

const maxSide = 1 << 15

// Fits returns nil if the model can predict labels or targets for the records of d. Otherwise, for example because
// columns are missing or in another order, it returns an error that says what differs. d must be as it was read from
// its file, not yet normalised.
func (s *Saved) Fits(d *data.Dataset) error {
	if err := s.made(); err != nil {
		return err
	}
	in := s.Inputs
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if (in.Images == nil) != (d.Images == nil) || in.Images != nil && (in.Images.Channels != d.Images.Channels ||
		in.Images.Height != d.Images.Height || in.Images.Width != d.Images.Width) {
		like, err := s.like()
		if err != nil {
			return err
		}
		advice := ""
		if d.Images == nil && d.Features == in.Features {
			advice = ": --image says that each row is an image"
		}
		fail("%s has %s, the model takes %s%s", d.Name, d.Shape(), like.Shape(), advice)
	} else if in.Images != nil && (!slices.Equal(in.Images.Mean, d.Images.Mean) ||
		!slices.Equal(in.Images.Std, d.Images.Std)) {
		fail("%s has other pixel constants than the training data of the model", d.Name)
	} else if d.Features != in.Features {
		fail("%s has %d features, the model takes %d", d.Name, d.Features, in.Features)
	}
	if in.Columns != nil && d.Columns != nil && !slices.Equal(in.Columns, d.Columns) {
		fail("%s has the columns %.200q, the model takes %.200q, in this order", d.Name, d.Columns, in.Columns)
	}
	return errors.Join(errs...)
}

// Normalised returns d with its columns normalised by the constants of the training records (Inputs.Mapped), as the
// methods Predict, Values and Logits need it. If the training records were not normalised, it returns d itself. d
// must be as it was read from its file.
func (s *Saved) Normalised(d *data.Dataset) (*data.Dataset, error) {
	if err := s.Fits(d); err != nil || s.Inputs.Mapped == nil {
		return d, err
	}
	return d.Mapped(*s.Inputs.Mapped)
}

// Predict returns the class that the model predicts for each record of d, as an index into Inputs.Labels. d must be
// the result of [Saved.Normalised], and s must come from [OpenModel]. For a regression model it returns an error: see
// [Saved.Values].
func (s *Saved) Predict(d *data.Dataset) ([]int32, error) {
	if err := s.opened(); err != nil {
		return nil, err
	}
	if s.Inputs.Target != nil {
		return nil, fmt.Errorf("predict: the model %s predicts numbers and no labels, see Saved.Values", s.Spec.Model)
	}
	labels := make([]int32, d.Len())
	err := s.each(d, func(from, to int, b data.Batch, scratch models.Scratch) {
		s.model.Predict(labels[from:to], s.params, b, scratch)
	})
	if err != nil {
		return nil, err
	}
	return labels, nil
}

// Values returns the number that a regression model predicts for each record of d, in the unit of the targets and
// within their public bounds (Inputs.Target). d must be the result of [Saved.Normalised], and s must come from
// [OpenModel]. For a model of classes it returns an error: see [Saved.Predict].
func (s *Saved) Values(d *data.Dataset) ([]float64, error) {
	if err := s.opened(); err != nil {
		return nil, err
	}
	if s.Inputs.Target == nil {
		return nil, fmt.Errorf("predict: the model %s predicts labels and no numbers", s.Spec.Model)
	}
	z, err := s.Logits(d)
	for i := range z {
		z[i] = s.Inputs.Target.Original(z[i])
	}
	return z, err
}

// Logits returns the scores of all classes for the records of d, before they are turned into probabilities. For K
// classes, the logits of record i are the K numbers from index i·K on. [models.Softmax] turns them into
// probabilities. d must be the result of [Saved.Normalised], and s must come from [OpenModel].
func (s *Saved) Logits(d *data.Dataset) ([]float64, error) {
	if err := s.opened(); err != nil {
		return nil, err
	}
	scorer, ok := s.model.(models.Scorer)
	if !ok {
		return nil, fmt.Errorf("predict: the model %s gives no scores", s.Spec.Model)
	}
	classes := max(1, len(s.Inputs.Labels)) // a model of regression has one logit
	if err := memory.Known().Check(8 * int64(d.Len()) * int64(classes)); err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	z := make([]float64, d.Len()*classes)
	err := s.each(d, func(from, to int, b data.Batch, scratch models.Scratch) {
		scorer.Logits(z[from*classes:to*classes], s.params, b, scratch)
	})
	if err != nil {
		return nil, err
	}
	return z, nil
}

// each calls f with the records of a normalised data set, as the model sees them, in parts: from is the
// first record of the part, and to the one after its last.
func (s *Saved) each(d *data.Dataset, f func(from, to int, b data.Batch, scratch models.Scratch)) error {
	if err := s.Fits(d); err != nil {
		return err
	}
	shown, err := NewSource(d).shown(s.Spec.inputs())
	if err != nil {
		return err
	}
	scratch := s.model.NewScratch()
	models.InParts(shown.All().All(), func(from, to int, part data.Batch) { f(from, to, part, scratch) })
	return nil
}

func (s *Saved) opened() error {
	if s == nil || s.model == nil {
		return errors.New("predict: the model has no parameters, must come from OpenModel")
	}
	return nil
}

func (s *Saved) made() error {
	if s == nil || s.Params == 0 {
		return errors.New("this Saved was not made by OpenModel")
	}
	return nil
}
