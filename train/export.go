package train

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"proactivedp/internal/files"
	"proactivedp/internal/numpy"
	"proactivedp/internal/onnx"
	"proactivedp/models"
)

// Description is the content of the JSON file that [Saved.Export] writes next to the weights of an exported model:
// the layers, with the names and shapes of their weights, and the header of the model's file ([Saved]). With it, a
// program in another language can prepare records and evaluate the model. How image features (Spec.FeatureMap) are
// computed is not described; only this program computes them.
type Description struct {
	Layers []models.Layer `json:"layers"`
	*Saved
}

// ExportFormats returns the file formats that [Saved.Export] writes: npz, safetensors and onnx. The ending of a
// file's name, such as .npz, chooses its format.
func ExportFormats() []string { return []string{"npz", "safetensors", "onnx"} }

// exports write a model in a format, by the ending of its files.
var exports = map[string]func(io.Writer, exported) error{
	".npz":         func(w io.Writer, e exported) error { return numpy.WriteArchive(w, e.arrays) },
	".safetensors": func(w io.Writer, e exported) error { return numpy.WriteSafetensors(w, e.arrays) },
	onnxEnding:     writeONNX,
}

const onnxEnding = ".onnx"

// CheckExport returns nil if [Saved.Export] can write a file with the ending of path: .npz, .safetensors or .onnx.
// Call it before a long training, to find a wrong ending early. about is the path of the JSON file ([Description])
// that Export writes next to path: path with the ending .json.
func CheckExport(path string) (about string, err error) {
	ending := filepath.Ext(path)
	if exports[ending] == nil {
		return "", fmt.Errorf("file %q, must end with .npz, .safetensors or .onnx", path)
	}
	return strings.TrimSuffix(path, ending) + ".json", nil
}

// Export writes the model to path for use in other programs, and its [Description] to a file of the same name that
// ends in .json. It writes both or neither. The ending of path chooses the format. A .npz or .safetensors file has
// only the weights, as float32 arrays. An .onnx file has the whole computation: from the columns of a record as
// float64, before they are normalised, to the probabilities of the labels or, for regression, to the predicted value.
// Only linear models and multi-layer perceptrons on rows of features can be written as .onnx.
//
// If the columns were normalised from public bounds, a value outside its bounds counts as the nearer bound in an
// .onnx file, even where [Saved.Normalised] returns an error instead. s must come from OpenModel.
func (s *Saved) Export(path string) error {
	if err := s.opened(); err != nil {
		return err
	}
	about, err := CheckExport(path)
	if err != nil {
		return err
	}
	layers, arrays, err := arraysOf(s.model, s.params)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	e := exported{s, layers, arrays}
	if filepath.Ext(path) == onnxEnding {
		if err := e.hasONNX(); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	weights := files.Output{Path: path, Write: func(w io.Writer) error { return exports[filepath.Ext(path)](w, e) }}
	return files.WriteSet([]files.Output{{Path: about, Write: files.JSON(Description{e.layers, s})}}, weights)
}

// exported is a model with its layers and the parts of its parameters, in their order.
type exported struct {
	*Saved
	layers []models.Layer
	arrays []numpy.Array
}

// activations are the operators of ONNX for the layers without weights that a model of rows may have.
var activations = map[string]string{"tanh": "Tanh", "relu": "Relu"}

// hasONNX returns an error if writeONNX cannot write the model.
func (e exported) hasONNX() error {
	if e.Inputs.Images != nil {
		return fmt.Errorf("ONNX has no form for the images that %s takes: write .npz or .safetensors", ModelTitle(e.Spec.Model))
	}
	for _, l := range e.layers {
		if l.Name != "dense" && activations[l.Name] == "" {
			return fmt.Errorf("ONNX has no form for the layer %s here: write .npz or .safetensors", l.Name)
		}
	}
	return nil
}

// writeONNX writes the computation from a batch of rows to probabilities or values. Like [Saved.Normalised],
// it clamps and normalises columns in float64 and rounds them to float32 then.
func writeONNX(w io.Writer, e exported) error {
	g := onnx.Graph{Name: e.Spec.Model}
	x := g.Input("x", onnx.Double, e.Inputs.Features)
	if m := e.Inputs.Mapped; m != nil {
		if m.Low != nil {
			x = g.Node("Max", []string{x, g.Doubles("low", m.Low...)})
			x = g.Node("Min", []string{x, g.Doubles("high", m.High...)})
		}
		x = g.Node("Sub", []string{x, g.Doubles("shift", m.Shift...)})
		x = g.Node("Mul", []string{x, g.Doubles("scale", m.Scale...)})
	}
	x = g.Node("Cast", []string{x}, onnx.Int("to", onnx.Float))
	if scale := e.Spec.InputScale; scale != 0 {
		x = g.Node("Mul", []string{x, g.Floats("input_scale", []int{1}, []float32{float32(scale)})})
	}
	arrays := e.arrays
	for _, l := range e.layers {
		if of := activations[l.Name]; of != "" {
			x = g.Node(of, []string{x})
			continue
		}
		in := []string{x}
		for _, a := range arrays[:2] { // weights and biases
			in = append(in, g.Floats(a.Name, a.Shape, a.Values))
		}
		arrays = arrays[2:]
		x = g.Node("Gemm", in, onnx.Int("transB", 1))
	}
	switch t := e.Inputs.Target; {
	case t != nil:
		const result = "values"
		x = g.Node("Cast", []string{x}, onnx.Int("to", onnx.Double)) // the bounds may be close to each other
		x = g.Node("Mul", []string{x, g.Doubles("half", t.High/2-t.Low/2)})
		x = g.Node("Add", []string{x, g.Doubles("middle", t.Low/2+t.High/2)})
		x = g.Node("Max", []string{x, g.Doubles("least", t.Low)})
		g.Named(result, "Min", []string{x, g.Doubles("most", t.High)})
		g.Output(result, onnx.Double, 1)
	case len(e.Inputs.Labels) == 2 && e.layers[len(e.layers)-1].Bias.Size() == 1: // the logit of the second label only
		other := g.Node("Sigmoid", []string{g.Node("Neg", []string{x})})
		g.Named(probabilities, "Concat", []string{other, g.Node("Sigmoid", []string{x})}, onnx.Int("axis", 1))
		g.Output(probabilities, onnx.Float, 2)
	default:
		g.Named(probabilities, "Softmax", []string{x}, onnx.Int("axis", 1))
		g.Output(probabilities, onnx.Float, len(e.Inputs.Labels))
	}
	about := map[string]string{}
	for name, value := range map[string]any{"labels": e.Inputs.Labels, "columns": e.Inputs.Columns, "privacy": e.Privacy} {
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		about[name] = string(text)
	}
	return g.Write(w, about)
}

// probabilities names the output of a classifier.
const probabilities = "probabilities"

func arraysOf(m models.Model, params []float32) ([]models.Layer, []numpy.Array, error) {
	layered, ok := m.(models.Layered)
	if !ok {
		return nil, nil, fmt.Errorf("the model %s does not describe its layers", m.Name())
	}
	layers := layered.Layers()
	var arrays []numpy.Array
	for _, l := range layers {
		for _, t := range []*models.Tensor{l.Weight, l.Bias} {
			if t != nil {
				arrays = append(arrays, numpy.Array{Name: t.Name, Shape: t.Shape, Values: params[:t.Size()]})
				params = params[t.Size():]
			}
		}
	}
	return layers, arrays, nil
}
