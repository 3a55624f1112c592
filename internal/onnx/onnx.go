// Package onnx writes small models in the format of ONNX, for programs such as ONNX Runtime:
//
//	g := onnx.Graph{Name: "logreg"}
//	x := g.Input("x", onnx.Double, 13)
//	x = g.Node("Cast", []string{x}, onnx.Int("to", onnx.Float))
//	z := g.Node("Gemm", []string{x, g.Floats("0.weight", []int{1, 13}, w), g.Floats("0.bias", []int{1}, b)}, onnx.Int("transB", 1))
//	g.Output(z, onnx.Float, 1)
//	err := g.Write(out, nil)
//
// The numbers of the fields are those of onnx.proto (github.com/onnx/onnx), in the wire format of
// protocol buffers.
package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// These are types of numbers. Their values are those that ONNX uses.
const (
	Float  = 1
	Double = 11
)

// Graph is an ONNX model under construction. Its inputs and outputs are matrices with any number of rows.
type Graph struct {
	Name string

	nodes, weights, inputs, outputs [][]byte
}

// The operators are those of version opset. irVersion is the first version of the file format that has it.
const (
	irVersion = 7
	opset     = 13
)

// Attribute is an encoded attribute of a node.
type Attribute []byte

// Int returns an attribute with a whole number.
func Int(name string, value int) Attribute {
	const isInt = 2
	var b []byte
	b = text(b, 1, name)
	b = number(b, 3, value)
	return number(b, 20, isInt)
}

// Input adds an input to the graph and returns its name. The input is a matrix with any number of rows and
// the given number of columns. of is the type of its numbers, such as Double.
func (g *Graph) Input(name string, of, columns int) string {
	g.inputs = append(g.inputs, matrix(name, of, columns))
	return name
}

// Output makes the value called name an output of the graph. It is a matrix with any number of rows and
// the given number of columns. of is the type of its numbers, such as Float.
func (g *Graph) Output(name string, of, columns int) {
	g.outputs = append(g.outputs, matrix(name, of, columns))
}

// matrix encodes the name and the type of a matrix with any number of rows.
func matrix(name string, of, columns int) []byte {
	shape := part(nil, 1, text(nil, 2, "rows"))
	shape = part(shape, 1, number(nil, 1, columns))
	kind := part(number(nil, 1, of), 2, shape)
	return part(text(nil, 1, name), 2, part(nil, 1, kind))
}

// Node adds an operator and returns the name of its result, which is generated.
func (g *Graph) Node(operator string, inputs []string, attributes ...Attribute) string {
	result := fmt.Sprintf("%d.%s", len(g.nodes), operator)
	g.Named(result, operator, inputs, attributes...)
	return result
}

// Named adds an operator to the graph, as Node does, but the caller chooses the name of its result.
func (g *Graph) Named(result, operator string, inputs []string, attributes ...Attribute) {
	var b []byte
	for _, in := range inputs {
		b = text(b, 1, in)
	}
	b = text(b, 2, result)
	b = text(b, 4, operator)
	for _, a := range attributes {
		b = part(b, 5, a)
	}
	g.nodes = append(g.nodes, b)
}

// Floats adds weights as float32, in row-major order, and returns their name.
func (g *Graph) Floats(name string, shape []int, values []float32) string {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return g.tensor(name, Float, shape, raw)
}

// Doubles adds a row of float64 constants and returns their name. The row applies to each row of a batch.
func (g *Graph) Doubles(name string, values ...float64) string {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	return g.tensor(name, Double, []int{len(values)}, raw)
}

func (g *Graph) tensor(name string, of int, shape []int, raw []byte) string {
	var b []byte
	for _, n := range shape {
		b = number(b, 1, n)
	}
	b = number(b, 2, of)
	b = text(b, 8, name)
	g.weights = append(g.weights, part(b, 9, raw))
	return name
}

// Write writes the graph to w as a model file of ONNX. The map about has further texts for the file's
// metadata, by their names.
func (g *Graph) Write(w io.Writer, about map[string]string) error {
	var graph []byte
	for _, n := range g.nodes {
		graph = part(graph, 1, n)
	}
	graph = text(graph, 2, g.Name)
	for _, t := range g.weights {
		graph = part(graph, 5, t)
	}
	for _, in := range g.inputs {
		graph = part(graph, 11, in)
	}
	for _, out := range g.outputs {
		graph = part(graph, 12, out)
	}
	b := number(nil, 1, irVersion)
	b = text(b, 2, "ProactiveDP")
	b = part(b, 7, graph)
	b = part(b, 8, number(nil, 2, opset))
	for _, name := range slices.Sorted(maps.Keys(about)) {
		b = part(b, 14, text(text(nil, 1, name), 2, about[name]))
	}
	_, err := w.Write(b)
	return err
}

// number appends a field with a whole number that is not negative.
func number(b []byte, field, value int) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3)
	return binary.AppendUvarint(b, uint64(value))
}

func part(b []byte, field int, value []byte) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|2)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

func text(b []byte, field int, value string) []byte { return part(b, field, []byte(value)) }
