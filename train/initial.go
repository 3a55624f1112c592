package train

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"

	"proactivedp/data"
	"proactivedp/internal/bounded"
	"proactivedp/internal/numpy"
	"proactivedp/models"
)

// maxInitialHead is how much a file of weights may have besides twice its float32 numbers, in bytes.
const maxInitialHead = 1 << 20

// InitialNote returns a sentence for reports if the training begins with weights from a file (Spec.Initial): which
// file it is, and that ε does not cover how these weights were made. It returns "" if there is no such file, so that
// the training begins with the untrained weights that the program makes for the model.
func (s Spec) InitialNote() string {
	if s.Initial == "" {
		return ""
	}
	return fmt.Sprintf("the weights in %s (SHA-256 %s). (ε, δ) does not cover them: they must be public; weights that were "+
		"trained on these records, even privately, add their ε", s.Initial,
		s.InitialSHA256)
}

// readInitial reads the file of the initial model and returns its weights for m, unless m is nil, and its hash. labels
// has the label of each class. If the spec already has a hash, the file must have this one.
func (s Spec) readInitial(m models.Model, labels []string) (params []float32, hash string, err error) {
	f, err := bounded.Regular(s.Initial)
	if err != nil {
		return nil, "", fmt.Errorf("initial model: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", fmt.Errorf("initial model: %w", err)
	}
	if m != nil {
		if most := 8*int64(m.NumParams()) + maxInitialHead; info.Size() > most {
			return nil, "", fmt.Errorf("initial model: %s has %d bytes, must be at most %d for %d parameters", s.Initial,
				info.Size(), most, m.NumParams())
		}
		params = make([]float32, m.NumParams())
		layers, arrays, err := arraysOf(m, params)
		if err == nil {
			err = errors.Join(numpy.ReadArrays(f, info.Size(), arrays), s.checkDescribed(layers, labels))
		}
		if err != nil {
			return nil, "", fmt.Errorf("initial model: %w", err)
		}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return nil, "", fmt.Errorf("initial model: %w", err)
	}
	hash = hex.EncodeToString(sum.Sum(nil))
	if s.InitialSHA256 != "" && s.InitialSHA256 != hash {
		return nil, "", fmt.Errorf("initial model: SHA-256 of %s = %s, must be %s", s.Initial, hash, s.InitialSHA256)
	}
	return params, hash, nil
}

// maxDescription is the largest size of the description of an exported model, in bytes.
const maxDescription = 64 << 20

// checkInitial returns the path of the description of weights in the file at path, or an error if they cannot be
// read from a file of this name.
func checkInitial(path string) (about string, err error) {
	about, err = CheckExport(path)
	if err != nil || filepath.Ext(path) == onnxEnding {
		return "", fmt.Errorf("file %q, must end with .npz or .safetensors", path)
	}
	return about, nil
}

// checkDescribed returns an error if the file of the initial model has a Description next to it, and this
// describes a model that uses its weights differently. The names and shapes of the weights do not show that: they
// are the same for logistic and linear regression, and for classes in another order.
func (s Spec) checkDescribed(layers []models.Layer, labels []string) error {
	about, err := checkInitial(s.Initial)
	if err != nil {
		return err
	}
	text, err := bounded.File(about, maxDescription)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // weights of other programs have no description
	}
	if err != nil {
		return fmt.Errorf("description of the initial model: %w", err)
	}
	var is struct {
		Layers []models.Layer `json:"layers"`
		Config struct {
			Model string `json:"model"`
		} `json:"config"`
		Inputs struct {
			Labels []string `json:"labels"`
		} `json:"inputs"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return fmt.Errorf("description of the initial model: %s: %w", about, err)
	}
	if is.Layers == nil || is.Config.Model == "" {
		return nil // some other file
	}
	if !reflect.DeepEqual(is.Layers, layers) || IsRegression(is.Config.Model) != IsRegression(s.Model) {
		return fmt.Errorf("%s has weights of the model %s (%s), must be of %s", s.Initial, is.Config.Model, about, s.Model)
	}
	if len(is.Inputs.Labels) < 2 {
		return nil
	}
	its, err := data.LabelsOf(is.Inputs.Labels)
	if err != nil {
		return fmt.Errorf("description of the initial model: %s: %w", about, err)
	}
	for class, label := range labels {
		if of, err := its.Class(label); err == nil && int(of) != class {
			return fmt.Errorf("%s has the label %q as class %d (%s), must have it as class %d, as in the data: give the labels "+
				"in the order %v (--label-map)", s.Initial, label, of, about, class, its)
		}
	}
	return nil
}
