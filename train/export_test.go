package train

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"proactivedp/data"
	"proactivedp/data/synth"
	"proactivedp/models"
	"proactivedp/rng"
	"proactivedp/sim"
)

// An exported ONNX file computes from raw columns what the program computes: probabilities of the labels, or
// values of a regression. A small interpreter, which knows the format from onnx.proto only, computes it here.
func TestONNXComputesTheModel(t *testing.T) {
	for _, c := range []struct {
		model   string
		classes int
	}{{Ridge, 2}, {Softmax, 3}, {"mlp:7", 3}, {"mlp-relu:4:3", 2}, {Linear, 0}} {
		t.Run(c.model, func(t *testing.T) {
			d, err := synth.Table(rng.New(2), "synth-table", synth.TableShape{Rows: 300, Features: 4, Classes: max(2, c.classes)})
			if err != nil {
				t.Fatal(err)
			}
			if c.classes == 0 {
				d.Targets = &data.Targets{Bounds: data.TargetBounds{Low: 1e9 - 1, High: 1e9 + 5}}
				for i := range d.Len() {
					d.Targets.Value = append(d.Targets.Value, float32(d.Label[i])-0.5)
				}
				d.Label, d.Classes = make([]int32, d.Len()), 1
			}
			m := data.Affine{Shift: []float64{0.5, 0, 0.25, 0.75}, Scale: []float64{2, 1, -3, 1},
				Low: []float64{0.4, 0, 0, 0}, High: []float64{0.6, 1, 0.5, 1}}
			normal, err := d.Mapped(m)
			if err != nil {
				t.Fatal(err)
			}
			s := smallSpec()
			s.Model, s.NoiseMultiplier, s.InputScale, s.Clip = c.model, 0.01, 0.75, 1
			p, err := s.Prepare(normal, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Train(t.Context(), sim.Perf{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "m")
			if err := r.Save(path, NewInputs(d, "", &m)); err != nil {
				t.Fatal(err)
			}
			saved, err := OpenModel(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := saved.Export(path + ".onnx"); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(path + ".onnx")
			if err != nil {
				t.Fatal(err)
			}
			want, err := saved.Logits(normal)
			if err != nil {
				t.Fatal(err)
			}
			each := max(1, c.classes)
			for i := range d.Len() {
				row := make([]float64, d.Features)
				for j, column := range d.Row(i).Index {
					row[column] = float64(d.Row(i).Value[j])
				}
				z := want[i*each : (i+1)*each]
				if c.classes == 0 {
					z[0] = saved.Inputs.Target.Original(z[0])
				} else {
					models.Softmax(z)
				}
				got := interpret(t, file, row)
				if len(got) != each {
					t.Fatalf("record %d has %d values, must be %d", i, len(got), each)
				}
				for j := range z {
					if !(math.Abs(got[j]-z[j]) <= 2e-5) {
						t.Fatalf("record %d: %v, the model has %v", i, got, z)
					}
				}
			}
		})
	}
}

// Networks on images, and endings that are not known, are refused by name, and nothing is written.
func TestExportRefuses(t *testing.T) {
	p, err := smallLeNet().Prepare(digits(350), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, _ := saveTrained(t, p)
	saved, err := OpenModel(path)
	if err != nil {
		t.Fatal(err)
	}
	for ending, want := range map[string]string{
		".onnx": "for the images that LeNet",
		".pt":   "must end with .npz, .safetensors or .onnx",
	} {
		if err := saved.Export(path + ending); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, must have %q", ending, err, want)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left %v, error %v", left, err)
	}
}

// fields returns the fields of a message in the wire format of protocol buffers: bytes as they are, and whole
// numbers as 8 bytes.
func fields(t *testing.T, b []byte) map[uint64][][]byte {
	t.Helper()
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatal("the message is cut off")
		}
		b = b[n:]
		return v
	}
	all := map[uint64][][]byte{}
	for len(b) > 0 {
		key := next()
		value := next()
		switch key & 7 {
		case 0:
			all[key>>3] = append(all[key>>3], binary.LittleEndian.AppendUint64(nil, value))
		case 2:
			all[key>>3] = append(all[key>>3], b[:value])
			b = b[value:]
		default:
			t.Fatalf("wire type %d", key&7)
		}
	}
	return all
}

func whole(b []byte) int { return int(binary.LittleEndian.Uint64(b)) }

// interpret computes the only output of an ONNX model for one row.
func interpret(t *testing.T, file []byte, row []float64) []float64 {
	t.Helper()
	model := fields(t, file)
	if got := whole(fields(t, model[8][0])[2][0]); got != 13 || whole(model[1][0]) != 7 {
		t.Fatalf("operators of version %d", got)
	}
	graph := fields(t, model[7][0])
	values := map[string][]float64{}
	for _, raw := range graph[5] {
		tensor, size := fields(t, raw), 1
		for _, n := range tensor[1] {
			size *= whole(n)
		}
		var v []float64
		for data := tensor[9][0]; len(data) > 0; {
			if whole(tensor[2][0]) == 1 {
				v, data = append(v, float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))), data[4:]
			} else {
				v, data = append(v, math.Float64frombits(binary.LittleEndian.Uint64(data))), data[8:]
			}
		}
		if len(v) != size {
			t.Fatalf("%s has %d values, must be %d", tensor[8][0], len(v), size)
		}
		values[string(tensor[8][0])] = v
	}
	columns := func(about []byte) (string, int) {
		info := fields(t, about)
		shape := fields(t, fields(t, fields(t, info[2][0])[1][0])[2][0])
		return string(info[1][0]), whole(fields(t, shape[1][1])[1][0])
	}
	name, n := columns(graph[11][0])
	if n != len(row) {
		t.Fatalf("%d columns, must be %d", n, len(row))
	}
	values[name] = row
	each := func(x []float64, f func(float64) float64) []float64 {
		out := slices.Clone(x)
		for i := range out {
			out[i] = f(out[i])
		}
		return out
	}
	pairs := func(in [][]float64, f func(a, b float64) float64) []float64 {
		out := slices.Clone(in[0])
		for i := range out {
			out[i] = f(out[i], in[1][i%len(in[1])])
		}
		return out
	}
	for _, raw := range graph[1] {
		node := fields(t, raw)
		var in [][]float64
		for _, from := range node[1] {
			if values[string(from)] == nil {
				t.Fatalf("%s is not known", from)
			}
			in = append(in, values[string(from)])
		}
		attributes := map[string]int{}
		for _, raw := range node[5] {
			a := fields(t, raw)
			attributes[string(a[1][0])] = whole(a[3][0])
		}
		var out []float64
		switch operator := string(node[4][0]) + " " + fmt.Sprint(attributes); operator {
		case "Max map[]":
			out = pairs(in, math.Max)
		case "Min map[]":
			out = pairs(in, math.Min)
		case "Sub map[]":
			out = pairs(in, func(a, b float64) float64 { return a - b })
		case "Add map[]":
			out = pairs(in, func(a, b float64) float64 { return a + b })
		case "Mul map[]":
			out = pairs(in, func(a, b float64) float64 { return a * b })
		case "Cast map[to:1]":
			out = each(in[0], func(x float64) float64 { return float64(float32(x)) })
		case "Cast map[to:11]":
			out = in[0]
		case "Neg map[]":
			out = each(in[0], func(x float64) float64 { return -x })
		case "Tanh map[]":
			out = each(in[0], math.Tanh)
		case "Relu map[]":
			out = each(in[0], func(x float64) float64 { return max(x, 0) })
		case "Sigmoid map[]":
			out = each(in[0], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })
		case "Softmax map[axis:1]":
			out = slices.Clone(in[0])
			models.Softmax(out)
		case "Concat map[axis:1]":
			out = slices.Concat(in...)
		case "Gemm map[transB:1]":
			for i, b := range in[2] {
				for j, x := range in[0] {
					b += x * in[1][i*len(in[0])+j]
				}
				out = append(out, b)
			}
		default:
			t.Fatalf("operator %s", operator)
		}
		values[string(node[2][0])] = out
	}
	result, n := columns(graph[12][0])
	if len(values[result]) != n {
		t.Fatalf("%d results, must be %d", len(values[result]), n)
	}
	return values[result]
}
