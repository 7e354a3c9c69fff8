package virtualapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Objects are read, compared and written at every request, and a large status takes half a megabyte. The functions
// here handle only JSON values, several times faster than encoding/json and reflect. They leave unusual input, such as
// escaped characters or errors, to those packages.

// decode reads an object and keeps numbers as written.
func decode(raw []byte) (Object, error) {
	p := parser{text: raw, names: map[string]string{}}
	if p.skip() == '{' {
		if value, ok := p.value(0); ok {
			return value.(Object), nil
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var object Object
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	return object, nil
}

// depth is the maximum nesting; deeper values are left to encoding/json.
const depth = 1000

type parser struct {
	text  []byte
	at    int
	names map[string]string // field names, which repeat
}

// skip passes white space and returns the next byte, or 0 at the end.
func (p *parser) skip() byte {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// value reads the value that begins here, unless it is unusual.
func (p *parser) value(nested int) (any, bool) {
	switch p.skip() {
	case '{':
		return p.object(nested + 1)
	case '[':
		return p.array(nested + 1)
	case '"':
		raw, ok := p.quoted()
		return string(raw), ok
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.number()
}

func (p *parser) word(word string) bool {
	if !bytes.HasPrefix(p.text[p.at:], []byte(word)) {
		return false
	}
	p.at += len(word)
	return true
}

// number reads a whole number without an exponent.
func (p *parser) number() (any, bool) {
	start := p.at
	if p.at < len(p.text) && p.text[p.at] == '-' {
		p.at++
	}
	digits := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	length := p.at - digits
	if length == 0 || length > 1 && p.text[digits] == '0' || p.at == len(p.text) {
		return nil, false
	}
	switch p.text[p.at] {
	case '.', 'e', 'E':
		return nil, false
	}
	return json.Number(p.text[start:p.at]), true
}

// quoted reads a string without escapes.
func (p *parser) quoted() ([]byte, bool) {
	start, ascii := p.at+1, true
	for p.at = start; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			raw := p.text[start:p.at]
			p.at++
			return raw, ascii || utf8.Valid(raw)
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

func (p *parser) object(nested int) (any, bool) {
	object := Object{}
	p.at++
	if p.skip() == '}' {
		p.at++
		return object, true
	}
	for nested < depth && p.skip() == '"' {
		raw, ok := p.quoted()
		if !ok || p.skip() != ':' {
			break
		}
		p.at++
		name, known := p.names[string(raw)]
		if !known {
			name = string(raw)
			p.names[name] = name
		}
		if object[name], ok = p.value(nested); !ok {
			break
		}
		switch p.skip() {
		case ',':
			p.at++
		case '}':
			p.at++
			return object, true
		default:
			return nil, false
		}
	}
	return nil, false
}

func (p *parser) array(nested int) (any, bool) {
	array := []any{}
	p.at++
	if p.skip() == ']' {
		p.at++
		return array, true
	}
	for nested < depth {
		item, ok := p.value(nested)
		if !ok {
			break
		}
		array = append(array, item)
		switch p.skip() {
		case ',':
			p.at++
		case ']':
			p.at++
			return array, true
		default:
			return nil, false
		}
	}
	return nil, false
}

// encode writes an object as json.Marshal does.
func encode(object Object) ([]byte, error) {
	return appendValue(nil, object)
}

func appendValue(into []byte, value any) ([]byte, error) {
	var err error
	switch value := value.(type) {
	case Object:
		if value == nil {
			break
		}
		into = append(into, '{')
		for i, name := range slices.Sorted(maps.Keys(value)) {
			if i > 0 {
				into = append(into, ',')
			}
			if into, err = appendText(into, name); err != nil {
				return nil, err
			}
			into = append(into, ':')
			if into, err = appendValue(into, value[name]); err != nil {
				return nil, err
			}
		}
		return append(into, '}'), nil
	case []any:
		if value == nil {
			break
		}
		into = append(into, '[')
		for i, item := range value {
			if i > 0 {
				into = append(into, ',')
			}
			if into, err = appendValue(into, item); err != nil {
				return nil, err
			}
		}
		return append(into, ']'), nil
	case string:
		return appendText(into, value)
	case bool:
		return strconv.AppendBool(into, value), nil
	case nil:
		return append(into, "null"...), nil
	}
	raw, err := json.Marshal(value)
	return append(into, raw...), err
}

// appendText writes a string. json.Marshal escapes some characters that JSON does not require to be escaped.
func appendText(into []byte, text string) ([]byte, error) {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			raw, err := json.Marshal(text)
			return append(into, raw...), err
		}
	}
	into = append(into, '"')
	into = append(into, text...)
	return append(into, '"'), nil
}

// same says whether two values are deeply equal.
func same(a, b any) bool {
	switch a := a.(type) {
	case Object:
		b, ok := b.(Object)
		return ok && sameObjects(a, b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && a == b
	case json.Number:
		b, ok := b.(json.Number)
		return ok && a == b
	}
	return reflect.DeepEqual(a, b)
}

func sameObjects(a, b Object) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	if reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true
	}
	for name, value := range a {
		if other, ok := b[name]; !ok || !same(value, other) {
			return false
		}
	}
	return true
}
