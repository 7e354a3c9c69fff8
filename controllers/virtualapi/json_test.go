package virtualapi

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// texts are usual and unusual objects, and texts that are not objects.
var texts = []string{
	`{}`, ` { "a" : 1 , "b" : [ ] } `, `{"a":[1,-2,0,"x",true,false,null,{"b":{}}],"c":"<&>"}`, `{"a":1.5e3}`, `{"a":-0}`,
	`{"a":"\u00e9\n\"","é":"ü"}`, "{\"a\":\"\u2028\x7f\"}", "{\"a\":\"\xff\"}", `{"a":1,"a":{"b":2}}`, `{"a":1} {"b":2}`,
	`null`, `[]`, `"a"`, `{`, `{"a"}`, `{"a":01}`, `{"a":-}`, `{"a":tru}`, `{"a":1,}`, `{"a":[1,]}`, "{\"a\":\"\n\"}", ``, `{"a":1`,
}

func FuzzJSON(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var wanted Object
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		wrong := decoder.Decode(&wanted)
		object, err := decode(raw)
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("error is %v instead of %v", err, wrong)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(object, wanted) || !same(object, wanted) {
			t.Fatalf("decoded %v instead of %v", object, wanted)
		}
		written, err := encode(object)
		text, wrong := json.Marshal(wanted)
		if err != nil || wrong != nil || !bytes.Equal(written, text) {
			t.Fatalf("encoded %s instead of %s (%v, %v)", written, text, err, wrong)
		}
	})
}

func TestValuesThatDifferAreNotTheSame(t *testing.T) {
	values := []any{nil, true, "", "1", json.Number("1"), 1, []any{}, []any(nil), []any{"1"}, Object{}, Object(nil),
		Object{"a": nil}, Object{"b": nil}, Object{"a": Object{"b": "1"}}, Object{"a": Object{"b": "2"}}}
	for i, a := range values {
		for j, b := range values {
			if same(a, b) != (i == j) {
				t.Errorf("same(%#v, %#v) is %v", a, b, i != j)
			}
		}
	}
}
