package types

import (
	"bytes"
	"slices"
	"testing"
)

type outer struct {
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Hidden int               `json:"-"`
	base   int
	Paused *bool `json:"paused,omitempty"`
}

func TestFieldsAreListedByTheirPaths(t *testing.T) {
	found := Fields(Kind{"Outer", outer{}})
	want := []string{"Outer,labels.*,map[string]string", "Outer,name,string", "Outer,paused,*bool"}
	if !slices.Equal(found, want) {
		t.Errorf("%q", found)
	}
}

func TestAFileIsReadAsTheTypeTakesIt(t *testing.T) {
	var out bytes.Buffer
	if err := Read(&out, Kind{"Outer", outer{}}, []byte("PAUSED: yes\nother: 1\nname: x\n")); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"name\": \"x\",\n  \"paused\": true\n}\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
	if err := Read(&out, Kind{"Outer", outer{}}, []byte("paused: \"true\"\n")); err == nil {
		t.Error("a text is no bool")
	}
}
