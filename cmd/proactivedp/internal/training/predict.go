package training

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"proactivedp/cmd/proactivedp/internal/cli"
	"proactivedp/data"
	"proactivedp/data/fetch"
	"proactivedp/data/table"
	"proactivedp/dp/claim"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/internal/message"
	"proactivedp/internal/numpy"
	"proactivedp/internal/report"
	"proactivedp/internal/results"
	"proactivedp/models"
	"proactivedp/train"
)

// prediction is the result of predict: the labels of records, and how good they are.
type prediction struct {
	Model       string              `json:"model"`
	Data        string              `json:"data"`
	Rows        int                 `json:"rows"`
	Predictions []string            `json:"predictions"`          // the label of each row; empty for a model of regression
	Values      []float64           `json:"values,omitempty"`     // the number predicted for each row by a model of regression
	Accuracy    *float64            `json:"accuracy"`             // null if the records have no labels
	Metrics     *train.ClassMetrics `json:"metrics,omitempty"`    // only for records with labels
	Regression  *models.Regression  `json:"regression,omitempty"` // of a model of regression, only for records with targets
	Kept        []keptColumn        `json:"kept,omitempty"`       // the columns of --keep
	Scores      [][]float64         `json:"scores,omitempty"`     // for each row, the probability of each label of Counts
	Threshold   float64             `json:"threshold,omitempty"`
	Counts      []labelCount        `json:"counts"`
	DataSHA256  string              `json:"data_sha256"`
	TrainedOn   string              `json:"trained_on_sha256"` // "" if the model's file does not have it
	Same        bool                `json:"same_data"`         // whether the model is known to be trained on these records or a part of them
	ParamsHash  string              `json:"params_sha256"`
	Privacy     claim.Report        `json:"privacy"`             // the guarantee of the training
	DataNote    string              `json:"data_note,omitempty"` // about the data of the training
	Notes       []string            `json:"notes,omitempty"`     // about the training
	Statement   string              `json:"statement,omitempty"`

	start string // of the training, see train.Spec.InitialNote
}

// labelCount says how often a label was predicted.
type labelCount struct {
	Label string `json:"label"`
	Count int    `json:"count"`
}

// keptColumn is a column of the records that is copied to the output.
type keptColumn struct {
	Name   string   `json:"name"`
	Values []string `json:"values"` // one for each row
}

// predictFlags are the flags of predict, except those for the folder of the data.
type predictFlags struct {
	data, column, out string
	outside           cli.Outside
	form              train.FileForm
	unlabelled        bool
	scores            bool
	threshold         float64
	keep              []string
}

func newPredict() *cobra.Command {
	var where cli.DataFlags
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict MODEL",
		Short: "Label records with a model that train, auto or host --save wrote",
		Long: `Label the rows of a file or of a named data set with a trained model. The model's file
holds the columns, their scaling and the labels. Data that do not fit are refused. If the
records have labels, accuracy, balanced accuracy, F1, AUC, log loss and the results of each
class are printed. A model of regression writes a number for each row, and its errors.

Labelling costs the training records no privacy (post-processing). The records that are
labelled are not protected.`,
		Example: "  proactivedp predict my.model --data new.csv --out labels.csv\n" +
			"  proactivedp predict my.model --data new.csv --scores --threshold 0.2",
		Args: cli.OneArg("the file of a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(cli.CheckForm(cmd), f.check(cmd, args[0])); err != nil {
				return cli.Usage(err)
			}
			m, err := train.OpenModel(args[0])
			if err != nil {
				return err
			}
			if err := f.fits(m); err != nil {
				return cli.Usage(err)
			}
			kept := table.Kept{Names: f.keep}
			d, labelled, err := f.load(cmd, &where, m, &kept)
			if err != nil {
				return err
			}
			where.CacheFeatures(cmd, d, f.data)
			p, err := f.predict(m, d, labelled)
			if err != nil {
				return err
			}
			p.keep(kept)
			p.Data = f.data
			return f.print(cmd, p)
		},
	}
	where.AddWithin(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.data, "data", "", "data set `name`, or a file of the same kind as the training data")
	fs.StringVar(&f.column, "label-column", "", "`name` of the column of a CSV file that has the labels, to be "+
		"compared with the predictions (default: none)")
	fs.BoolVar(&f.unlabelled, "unlabelled", false,
		"ignore the label column of a LIBSVM file, and the labels of arrays and images")
	cli.OutsideVar(fs, &f.outside, "as in the training")
	cli.FormVars(fs, &f.form)
	fs.BoolVar(&f.scores, "scores", false, "also write the probability of each label")
	fs.Float64Var(&f.threshold, "threshold", 0, "with two labels: predict the second one if its probability is at least "+
		"this, in (0, 1) (default: the more probable label)")
	fs.StringSliceVar(&f.keep, "keep", nil, "`columns` of a CSV file, such as an id, that are copied next to the labels; they "+
		"need not be features (default: none)")
	fs.StringVar(&f.out, "out", "", "CSV `file` for the labels, one a row (default: stdout)")
	cli.AddJSON(fs)
	cli.AddStatement(fs)
	return cmd
}

func (f *predictFlags) check(cmd *cobra.Command, model string) error {
	var errs []error
	if f.out != "" && cli.SameFile(f.out, model) {
		errs = append(errs, fmt.Errorf("--out = %s, must not be the file of the model", f.out))
	}
	if f.data == "" {
		errs = append(errs, errors.New("--data is missing, must name the records to label"))
	} else {
		errs = append(errs, cli.CheckData(f.data))
	}
	if cmd.Flags().Changed("threshold") && !(f.threshold > 0 && f.threshold < 1) {
		errs = append(errs, fmt.Errorf("--threshold = %v, must be in (0, 1)", f.threshold))
	}
	kind := cli.KindOf(f.data)
	errs = append(errs, f.outside.Check(), cli.CheckFormOf(cmd, f.form, f.data, ""))
	if f.column != "" && kind != cli.CSVFile {
		errs = append(errs, fmt.Errorf("--label-column is for a CSV file, not for %s", f.data))
	}
	if len(f.keep) > 0 && kind != cli.CSVFile {
		errs = append(errs, fmt.Errorf("--keep is for a CSV file, not for %s", f.data))
	}
	for i, name := range f.keep {
		if slices.Contains(f.keep[:i], name) {
			errs = append(errs, fmt.Errorf("--keep names %q twice", name))
		}
		if name == rowColumn || name == labelColumn || strings.HasPrefix(name, scoreColumn) {
			errs = append(errs, fmt.Errorf("--keep = %q, which names a column of the output: rename it in the file", name))
		}
	}
	if f.unlabelled && (!cli.OwnFile(f.data) || kind == cli.CSVFile) {
		errs = append(errs, fmt.Errorf("--unlabelled is for a LIBSVM, NumPy or image file, not for %s", f.data))
	}
	return errors.Join(errs...)
}

// load reads the records in the same way as the training records, but does not normalise them yet.
// It reports whether they have labels. Classes are those of the model, because the records may all
// be of one class.
func (f *predictFlags) load(cmd *cobra.Command, where *cli.DataFlags, m *train.Saved, kept *table.Kept) (*data.Dataset, bool, error) {
	f.outside.Set(m.Inputs.Mapped)
	if !cli.OwnFile(f.data) {
		d, err := where.Load(cmd, f.data)
		return d, true, err
	}
	labels, err := m.Inputs.LabelMap()
	if err == nil && labels == nil && m.Inputs.Target == nil {
		labels, err = data.LabelsOf(m.Inputs.Labels)
	}
	if err != nil {
		return nil, false, err
	}
	form, kind := m.Inputs.Form, cli.KindOf(f.data)
	if a, err := numpy.ParseArrays(form.Arrays); kind == cli.ImageFile && (err != nil || a.Y != "coarse" && a.Y != "fine") {
		form.Arrays = "" // the training data had other arrays or labels
	}
	for name, set := range map[string]func(){
		"no-header":     func() { form.NoHeader, form.HeaderLine = f.form.NoHeader, 0 },
		"header-line":   func() { form.HeaderLine, form.NoHeader = f.form.HeaderLine, false },
		"number-format": func() { form.Numbers = f.form.Numbers },
		"zero-based":    func() { form.ZeroBased = f.form.ZeroBased },
		"arrays":        func() { form.Arrays = f.form.Arrays },
		"image":         func() { form.Image = f.form.Image },
	} {
		if cmd.Flags().Changed(name) {
			set()
		}
	}
	if t := m.Inputs.Target; t != nil && f.outside != "" {
		t.Refuse = f.outside == "refuse"
	} else if f.outside != "" && form.Pixels == "" && (m.Inputs.Mapped == nil || m.Inputs.Mapped.Low == nil) {
		return nil, false, cli.Usage(fmt.Errorf("--out-of-bounds = %s is for a model with bounds, and this one has none", f.outside))
	}
	if f.form.Image != "" && m.Inputs.Images == nil {
		return nil, false, cli.Usage(fmt.Errorf("--image = %s is for a model of images, and this one takes rows", f.form.Image))
	}
	pixels, err := cli.PixelRangeOf(form, f.outside, f.data)
	if err != nil {
		return nil, false, err
	}
	d, labelled, err := f.loadFile(m, labels, form, kind, pixels, where.Locator(cmd), kept)
	if err != nil || m.Inputs.Images == nil {
		return d, labelled, err
	}
	if form.Image != "" && d.Images == nil {
		if d, err = cli.Pictures(d, form, pixels, int64(where.Memory)); err != nil {
			return nil, false, err
		}
	}
	if d.Images != nil && d.Images.Channels == m.Inputs.Images.Channels {
		d.Images.Mean, d.Images.Std = m.Inputs.Images.Mean, m.Inputs.Images.Std
	}
	return d, labelled, nil
}

func (f *predictFlags) loadFile(m *train.Saved, labels *data.Labels, form train.FileForm, kind cli.FileKind,
	pixels data.PixelRange, l fetch.Locator, kept *table.Kept) (_ *data.Dataset, _ bool, err error) {
	r := cli.Reading{Form: form, Pixels: pixels, Options: table.Options{Labels: labels, Target: m.Inputs.Target,
		Features: m.Inputs.Features, Unlabelled: f.unlabelled, Saturate: m.Inputs.Mapped != nil || form.Pixels != "",
		Memory: l.Memory, Progress: l.Progress}}
	switch kind {
	case cli.NumPyFile, cli.ImageFile:
		if r.Arrays, err = cli.ArraysOf(form); err != nil {
			return nil, false, cli.Usage(err)
		}
		r.Arrays = r.Arrays.Training()
		d, err := r.File(f.data)
		if errors.Is(err, numpy.ErrNoLabels) { // an archive may lack labels
			r.Unlabelled = true
			d, err = r.File(f.data)
		}
		return d, !r.Unlabelled, err
	case cli.CSVFile:
		if m.Inputs.Kinds != "" {
			if r.Columns, err = table.ParseColumns(m.Inputs.Kinds); err != nil {
				return nil, false, fmt.Errorf("the model's columns: %w", err)
			}
		}
		r.Label, r.Unlabelled, r.Named = f.column, f.column == "", m.Inputs.Columns
		if r.Named != nil {
			r.Features = 0 // the names say how many there are
		}
		if len(kept.Names) > 0 {
			r.Kept = kept
		}
		d, err := r.File(f.data)
		if name := m.Inputs.LabelColumn; name != "" && name != f.column && errors.Is(err, table.ErrOtherColumns) {
			// The file may have the column of the labels, which is not needed and may be empty.
			if without, bad := r.Columns.Ignoring(name); bad == nil {
				r.Columns = without
				if again, other := r.File(f.data); !errors.Is(other, table.ErrOtherColumns) {
					d, err = again, other
				}
				if err == nil {
					fmt.Fprintf(l.Progress, "proactivedp: the column %s of %s is not read: --label-column %s compares the "+
						"predictions with it\n", message.Word(name), f.data, message.Word(name))
				}
			}
		}
		if f.column == "" && errors.Is(err, table.ErrOtherColumns) {
			err = fmt.Errorf("%w (--label-column names the column that has the labels, if there is one; --keep carries any other column over)", err)
		}
		return d, f.column != "", err
	}
	d, err := r.File(f.data)
	if errors.Is(err, data.ErrLabel) || errors.Is(err, data.ErrTarget) {
		err = fmt.Errorf("%w (--unlabelled does not read labels)", err)
	}
	return d, !f.unlabelled, err
}

func (f *predictFlags) predict(m *train.Saved, d *data.Dataset, labelled bool) (*prediction, error) {
	d, err := m.Normalised(d)
	if err != nil {
		return nil, err
	}
	if m.Inputs.Target != nil {
		return f.regress(m, d, labelled)
	}
	labels := m.Inputs.Labels
	if labelled && d.Classes != len(labels) {
		return nil, fmt.Errorf("%s has labels of %d classes, the model has %d: %s", f.data, d.Classes, len(labels),
			strings.Join(labels, ", "))
	}
	if f.threshold > 0 && len(labels) != 2 {
		return nil, cli.Usage(fmt.Errorf("--threshold is for a model of two labels, this one has %d", len(labels)))
	}
	logits, err := m.Logits(d)
	if err != nil {
		return nil, err
	}
	classes := make([]int32, d.Len())
	for i := range classes {
		for class, z := range logits[i*len(labels):][:len(labels)] {
			if z > logits[i*len(labels)+int(classes[i])] {
				classes[i] = int32(class)
			}
		}
	}
	p := newPrediction(m, d)
	p.Threshold = f.threshold
	if f.threshold > 0 {
		for i := range classes {
			classes[i] = 0
			if logits[2*i+1]-logits[2*i] >= math.Log(f.threshold/(1-f.threshold)) {
				classes[i] = 1
			}
		}
	}
	if labelled {
		e := models.EvaluateLogits(logits, classes, d.All().All())
		p.Accuracy = &e.Accuracy
		metrics := train.ClassMetricsOf(*e, labels)
		p.Metrics = &metrics
	}
	counts := make([]int, len(labels))
	for i, class := range classes {
		p.Predictions = append(p.Predictions, labels[class])
		counts[class]++
		if f.scores {
			row := logits[i*len(labels):][:len(labels):len(labels)]
			models.Softmax(row)
			p.Scores = append(p.Scores, row)
		}
	}
	for class, n := range counts {
		p.Counts = append(p.Counts, labelCount{labels[class], n})
	}
	return p, nil
}

// newPrediction returns a prediction without labels.
func newPrediction(m *train.Saved, d *data.Dataset) *prediction {
	p := &prediction{Model: m.Spec.Model, Rows: d.Len(), DataSHA256: d.Hash(), TrainedOn: m.DataSHA256,
		ParamsHash: m.ParamsSHA256, Privacy: m.Privacy, DataNote: m.DataNote, Notes: m.Notes, Statement: m.Statement,
		start: m.Spec.InitialNote()}
	p.Same = p.DataSHA256 == p.TrainedOn
	return p
}

func (f *predictFlags) fits(m *train.Saved) error {
	if m.Inputs.Target == nil {
		return nil
	}
	var errs []error
	if f.scores {
		errs = append(errs, errors.New("--scores is for a model of labels, and this one predicts numbers"))
	}
	if f.threshold > 0 {
		errs = append(errs, errors.New("--threshold is for a model of labels, and this one predicts numbers"))
	}
	if slices.Contains(f.keep, valueColumn) {
		errs = append(errs, fmt.Errorf("--keep = %q, which names a column of the output: rename it in the file", valueColumn))
	}
	return errors.Join(errs...)
}

func (f *predictFlags) regress(m *train.Saved, d *data.Dataset, labelled bool) (*prediction, error) {
	if d.Targets == nil {
		return nil, fmt.Errorf("%s has labels, and the model predicts numbers", f.data)
	}
	values, err := m.Values(d)
	if err != nil {
		return nil, err
	}
	p := newPrediction(m, d)
	p.Predictions, p.Counts, p.Values = []string{}, []labelCount{}, values
	if labelled {
		p.Regression = models.EvaluateRegression(values, d.All().All())
	}
	return p, nil
}

// print prints the labels. Messages go where they do not disturb the output.
func (f *predictFlags) print(cmd *cobra.Command, p *prediction) error {
	if f.out != "" {
		if err := files.Write(f.out, p.writeCSV); err != nil {
			return err
		}
	}
	if f.out == "" && !cli.AsJSON(cmd) {
		return errors.Join(p.writeCSV(cmd.OutOrStdout()), p.WriteText(cmd.ErrOrStderr()))
	}
	return cli.Report(cmd, p)
}

func (p *prediction) keep(kept table.Kept) {
	for i, name := range kept.Names {
		c := keptColumn{name, make([]string, len(kept.Rows))}
		for row, fields := range kept.Rows {
			c.Values[row] = fields[i]
		}
		p.Kept = append(p.Kept, c)
	}
}

// The columns of the output, in addition to those of --keep.
const (
	rowColumn   = "row"
	labelColumn = "label"
	valueColumn = "prediction"      // of a model of regression, instead of the label
	scoreColumn = "probability of " // followed by the label
)

func (p *prediction) writeCSV(w io.Writer) error {
	header := []string{rowColumn}
	for _, c := range p.Kept {
		header = append(header, c.Name)
	}
	name, predictions := labelColumn, p.Predictions
	if p.Values != nil {
		name, predictions = valueColumn, make([]string, len(p.Values))
		for i, v := range p.Values {
			predictions[i] = strconv.FormatFloat(v, 'g', 9, 64)
		}
	}
	header = append(header, name)
	if p.Scores != nil {
		for _, c := range p.Counts {
			header = append(header, scoreColumn+c.Label)
		}
	}
	rows := [][]string{header}
	for i, label := range predictions {
		row := []string{strconv.Itoa(i + 1)}
		for _, c := range p.Kept {
			row = append(row, c.Values[i])
		}
		row = append(row, label)
		if p.Scores != nil {
			for _, x := range p.Scores[i] {
				row = append(row, strconv.FormatFloat(x, 'g', 9, 64))
			}
		}
		rows = append(rows, row)
	}
	return results.WriteTable(w, rows)
}

func (p *prediction) WriteText(w io.Writer) error {
	text := fmt.Sprintf("%s of %s labelled by %s:", decimal.Many(p.Rows, "row"), p.Data, train.ModelTitle(p.Model))
	if p.Values != nil {
		text = fmt.Sprintf("numbers for %s of %s predicted by %s", decimal.Many(p.Rows, "row"), p.Data, train.ModelTitle(p.Model))
	}
	for i, c := range p.Counts {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %d × %s", c.Count, data.InList(c.Label))
	}
	text += "\n"
	if p.Accuracy != nil {
		text += fmt.Sprintf("accuracy        %.4f on the labels that they have\n", *p.Accuracy)
	}
	if p.Metrics != nil {
		var out strings.Builder
		if err := p.Metrics.WriteText(&out); err != nil {
			return err
		}
		text += out.String()
	}
	if r := p.Regression; r != nil {
		if r.R2 != nil {
			text += fmt.Sprintf("R²              %.4f on the targets that they have\n", *r.R2)
		}
		text += fmt.Sprintf("errors          RMSE %.5g, mean absolute error %.5g; %.5g and %.5g by predicting the mean and the median\n",
			r.RMSE, r.MAE, r.MeanRMSE, r.MedianMAE)
	}
	if p.Same && p.Values != nil {
		text += "note            the model was trained on some of these records: their errors are no test\n"
	} else if p.Same {
		text += "note            the model was trained on some of these records: the accuracy is no test\n"
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	notes := p.Notes
	if p.DataNote != "" {
		notes = slices.Concat([]string{"training data: " + p.DataNote}, notes)
	}
	if err := report.WriteNotes(w, notes); err != nil {
		return err
	}
	if p.Statement != "" { // the statement also says what else is not protected
		_, err := fmt.Fprintf(w, "\n%s\n", p.Statement)
		return err
	}
	return p.Privacy.WriteText(w)
}

// WriteStatement writes the full privacy statement of the model.
func (p *prediction) WriteStatement(w io.Writer) error {
	if p.Statement != "" {
		_, err := fmt.Fprintln(w, p.Statement)
		return err
	}
	err := p.Privacy.WriteStatement(w)
	if err == nil && p.DataNote != "" {
		_, err = fmt.Fprintf(w, "  %-14s%s\n", "data", p.DataNote)
	}
	if err == nil && p.start != "" {
		_, err = fmt.Fprintf(w, "  %-14s%s\n", "start", p.start)
	}
	return err
}
