package train

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"proactivedp/internal/files"
	"proactivedp/internal/numpy"
	"proactivedp/models"
)

// Description is the JSON file next to the weights of an exported model. It has the layers, with the
// names and shapes of their weights, and the header of the model's file. A reader needs nothing else to
// prepare records and to evaluate the model, except the features of images, which this program
// computes.
type Description struct {
	Layers []models.Layer `json:"layers"`
	*Saved
}

// exports writes arrays in a format, by the ending of its files.
var exports = map[string]func(io.Writer, []numpy.Array) error{
	".npz": numpy.WriteArchive, ".safetensors": numpy.WriteSafetensors,
}

// CheckExport returns the path of the description that Export writes next to path, or an error if Export cannot
// write a file of this name.
func CheckExport(path string) (about string, err error) {
	ending := filepath.Ext(path)
	if exports[ending] == nil {
		return "", fmt.Errorf("file %q, must end with .npz or .safetensors", path)
	}
	return strings.TrimSuffix(path, ending) + ".json", nil
}

// Export writes the weights to path, as float32 arrays in an .npz or a .safetensors file, and their
// Description as JSON to a file of the same name that ends with .json. It writes both or neither. s must come
// from OpenModel.
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
	weights := files.Output{Path: path, Write: func(w io.Writer) error { return exports[filepath.Ext(path)](w, arrays) }}
	return files.WriteSet([]files.Output{{Path: about, Write: files.JSON(Description{layers, s})}}, weights)
}

// arraysOf returns the layers of a model, and the parts of its parameters as arrays.
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
