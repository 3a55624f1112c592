package libraries

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FromPython converts the printed form of a Python value, such as {'history': [(1.1, 0.004, 10000)]}, to JSON. Use it
// for the state of an accountant that was printed in Python and not saved as JSON. It covers dicts (also
// OrderedDict), lists, tuples, texts, bools, None and numbers. It accepts NumPy's integers and its float64, such as
// np.int32(5), and refuses narrower floats, because their printed digits are not the exact number. The text is parsed
// and never executed. Other values are an error.
func FromPython(text []byte) ([]byte, error) {
	c := pyConverter{eventParser: eventParser{text: string(text)}}
	for c.blank(); c.text != ""; c.blank() {
		if err := c.token(); err != nil {
			return nil, c.at(err)
		}
	}
	var out bytes.Buffer
	if len(c.open) > 0 || json.Compact(&out, c.out) != nil {
		return nil, errors.New("this is no complete value of Python")
	}
	return out.Bytes(), nil
}

type pyConverter struct {
	eventParser
	out []byte
	// open are the brackets that are open. 'O' is that of an OrderedDict, 'P' that of the list of pairs in it, which
	// is written as an object, 'K' that of a pair before its comma, and 'V' the same bracket behind the comma.
	open []byte
}

// closes lists the brackets that close others, and how JSON writes them.
var closes = map[[2]byte]string{
	{'(', ')'}: "]", {'[', ']'}: "]", {'{', '}'}: "}", {'O', ')'}: "", {'P', ']'}: "}", {'V', ')'}: "",
}

// token converts the next token.
func (c *pyConverter) token() error {
	switch b := c.text[0]; b {
	case '(', '[', '{':
		if len(c.open) == mostNested {
			return fmt.Errorf("values nested more than %d deep", mostNested)
		}
		c.text = c.text[1:]
		switch last := c.last(); {
		case b == '[' && last == 'O':
			c.open, c.out = append(c.open, 'P'), append(c.out, '{')
		case b == '(' && last == 'P':
			c.open = append(c.open, 'K')
		case b == '(':
			c.open, c.out = append(c.open, b), append(c.out, '[')
		default:
			c.open, c.out = append(c.open, b), append(c.out, b)
		}
		return nil
	case ')', ']', '}':
		c.text = c.text[1:]
		write, ok := closes[[2]byte{c.last(), b}]
		if !ok {
			return fmt.Errorf("%q closes nothing", b)
		}
		c.out = append(bytes.TrimSuffix(c.out, []byte(",")), write...) // as in (1,)
		c.open = c.open[:len(c.open)-1]
		return nil
	case ',', ':':
		switch c.last() {
		case 'K':
			if b == ',' {
				b, c.open[len(c.open)-1] = ':', 'V'
				break
			}
			fallthrough
		case 'V':
			return errors.New("must be a pair")
		}
		c.out, c.text = append(c.out, b), c.text[1:]
		return nil
	case '\'', '"':
		end := strings.IndexByte(c.text[1:], b)
		if end < 0 || strings.ContainsRune(c.text[1:1+end], '\\') {
			return errors.New("must be a text without backslashes")
		}
		text, err := json.Marshal(c.text[1 : 1+end])
		c.out, c.text = append(append(c.out, ' '), text...), c.text[end+2:]
		return err
	}
	if digits := pyNumber(c.text); digits != "" {
		c.text = c.text[len(digits):]
		return c.number(digits)
	}
	name := pyName(c.text)
	short := name[strings.LastIndex(name, ".")+1:]
	if word, ok := map[string]string{"True": "true", "False": "false", "None": "null"}[name]; ok {
		c.out, c.text = append(append(c.out, ' '), word...), c.text[len(name):]
		return nil
	}
	rest, called := strings.CutPrefix(c.text[len(name):], "(")
	switch {
	case called && short == "OrderedDict" && len(c.open) < mostNested:
		c.open, c.text = append(c.open, 'O'), rest
		return nil
	case called && exactNumber(short):
		digits := pyNumber(rest)
		if after, ok := strings.CutPrefix(rest[len(digits):], ")"); ok && digits != "" {
			c.text = after
			return c.number(digits)
		}
	}
	if called && name != "" {
		return fmt.Errorf("%.40s is printed with rounded digits or is not known, must be a number (x.item() of it), a text, a list, "+
			"a tuple or a dict", name)
	}
	return errors.New("must be a number, a text, a list, a tuple or a dict")
}

// last returns the last bracket that is open, or 0.
func (c *pyConverter) last() byte {
	if len(c.open) == 0 {
		return 0
	}
	return c.open[len(c.open)-1]
}

// number writes a number as JSON has it.
func (c *pyConverter) number(digits string) error {
	digits = strings.ReplaceAll(digits, "_", "")
	if !json.Valid([]byte(digits)) { // such as 1. or +1
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return err
		}
		digits = strconv.FormatFloat(v, 'g', -1, 64)
	}
	c.out = append(append(c.out, ' '), digits...) // so that 1 2 is not 12
	return nil
}

// exactNumber reports whether NumPy prints the exact number of this type: integers and float64. The
// digits of narrower floats are not the exact number.
func exactNumber(name string) bool {
	bits, ok := strings.CutPrefix(strings.TrimPrefix(name, "u"), "int")
	return name == "float64" || ok && (bits == "8" || bits == "16" || bits == "32" || bits == "64")
}

// hasEventNames reports whether JSON is the named tuple of an event, see [fromNamedTuple].
func hasEventNames(text []byte) bool {
	var list []json.RawMessage
	var object struct {
		Name string `json:"class_name"`
	}
	if json.Unmarshal(text, &list) == nil && len(list) >= 2 {
		return json.Unmarshal(list[1], &object.Name) == nil && strings.HasSuffix(object.Name, "DpEvent")
	}
	return bytes.HasPrefix(text, []byte("{")) && json.Unmarshal(text, &object) == nil &&
		strings.HasSuffix(object.Name, "DpEvent")
}

// fromNamedTuple returns the event of a JSON value of DpEvent.to_named_tuple() of dp_accounting. A named
// tuple is an array of the module, the class and the fields in order, or an object with the keys
// module_name, class_name and the fields.
func fromNamedTuple(text []byte) (pyValue, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return pyValue{}, err
	}
	return namedValue(v, 0)
}

func namedValue(v any, depth int) (pyValue, error) {
	if depth > mostNested {
		return pyValue{}, fmt.Errorf("events nested more than %d deep", mostNested)
	}
	switch v := v.(type) {
	case json.Number:
		x, err := v.Float64()
		return pyValue{number: x}, err
	case []any:
		out := pyValue{isList: true}
		if len(v) >= 2 {
			_, module := v[0].(string)
			if class, ok := v[1].(string); ok && module {
				out, v = pyValue{name: class, call: true}, v[2:]
			}
		}
		for _, e := range v {
			element, err := namedValue(e, depth+1)
			if err != nil {
				return out, err
			}
			out.list, out.names = append(out.list, element), append(out.names, "")
		}
		return out, nil
	case map[string]any:
		class, ok := v["class_name"].(string)
		if !ok {
			return pyValue{}, errors.New("an object without class_name, must be an event")
		}
		out := pyValue{name: class, call: true}
		for key, e := range v {
			if key == "class_name" || key == "module_name" {
				continue
			}
			field, err := namedValue(e, depth+1)
			if err != nil {
				return out, err
			}
			out.list, out.names = append(out.list, field), append(out.names, key)
		}
		return out, nil
	}
	return pyValue{}, fmt.Errorf("%.40v, must be an event, a number or a list", v)
}
