// Package types shows the types with which a product reads its files: their fields, and the result of reading a file.
//
// A field is listed once for each path to it, as in fleetsim's own field tables: `a.b[].c`, where `[]` is each entry
// of a list and `*` each value of a map with free keys. Kubernetes' own types are not expanded.
package types

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Kind is a kind of file or object with the type that reads it.
type Kind struct {
	Name string
	Type any
}

// Main handles the first argument if it asks for types, and says whether it did: `-fields` prints all fields, and
// `-read KIND` reads the file on standard input and prints what the type keeps of it, as JSON, or the error.
func Main(kinds []Kind) bool {
	if len(os.Args) == 2 && os.Args[1] == "-fields" {
		for _, kind := range kinds {
			for _, line := range Fields(kind) {
				fmt.Println(line)
			}
		}
		return true
	}
	if len(os.Args) != 3 || os.Args[1] != "-read" {
		return false
	}
	for _, kind := range kinds {
		if kind.Name == os.Args[2] {
			text, err := io.ReadAll(os.Stdin)
			if err == nil {
				err = Read(os.Stdout, kind, text)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return true
		}
	}
	fmt.Fprintf(os.Stderr, "there is no kind %s\n", os.Args[2])
	os.Exit(2)
	return true
}

// Read prints what the type keeps of a text, without empty fields.
func Read(out io.Writer, kind Kind, text []byte) error {
	value := reflect.New(reflect.TypeOf(kind.Type)).Interface()
	if err := yaml.Unmarshal(text, value); err != nil {
		return err
	}
	written, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, written, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, indented.String())
	return err
}

// Fields lists the fields of a kind as `kind,path,type`, in alphabetical order.
func Fields(kind Kind) []string {
	w := walk{kind: kind.Name}
	w.fields(reflect.TypeOf(kind.Type), "", nil)
	slices.Sort(w.lines)
	return slices.Compact(w.lines)
}

type walk struct {
	kind  string
	lines []string
}

func (w *walk) add(path string, t reflect.Type) {
	w.lines = append(w.lines, fmt.Sprintf("%s,%s,%s", w.kind, path, t))
}

// fields lists the fields of a struct. Types that are already being expanded are not expanded again.
func (w *walk) fields(t reflect.Type, path string, open []reflect.Type) {
	if slices.Contains(open, t) {
		return
	}
	open = append(slices.Clone(open), t)
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		inner := field.Type
		if name == "" && (field.Anonymous || strings.Contains(options, "inline")) {
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				w.fields(inner, path, open)
			}
			continue
		}
		if name == "" {
			name = field.Name
		}
		w.value(field.Type, join(path, name), open)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (w *walk) value(t reflect.Type, path string, open []reflect.Type) {
	inner := t
	for inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	switch inner.Kind() {
	case reflect.Slice:
		if inner.Elem().Kind() == reflect.Uint8 {
			w.add(path, t)
			return
		}
		w.element(inner.Elem(), path+"[]", t, open)
	case reflect.Map:
		w.element(inner.Elem(), path+".*", t, open)
	case reflect.Struct:
		w.add(path, t)
		if isOwn(inner) {
			w.fields(inner, path, open)
		}
	default:
		w.add(path, t)
	}
}

// element handles the element type of a list or map.
func (w *walk) element(t reflect.Type, path string, whole reflect.Type, open []reflect.Type) {
	w.add(path, whole)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Struct && isOwn(t):
		w.fields(t, path, open)
	case t.Kind() == reflect.Map:
		w.add(path+".*", whole)
	}
}

// isOwn says whether a type belongs to the product rather than to Kubernetes.
func isOwn(t reflect.Type) bool {
	path := t.PkgPath()
	return strings.Contains(path, "rancher") || strings.Contains(path, "argoproj")
}
