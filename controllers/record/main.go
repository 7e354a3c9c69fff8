// Command record runs a product's controllers over scripted fleets and records whole rollouts.
//
//	record -command target/controllers/argocd -cases argocd -out DIR [-only WORD] [-check]
//
// The command is any process that speaks the protocol of PROTOCOL.md. With -check, record runs the cases again and
// compares them with the files in DIR, byte by byte, instead of writing them.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	command := flag.String("command", "", "the controllers' process and its arguments")
	which := flag.String("cases", "", "the list of cases: "+strings.Join(lists(), ", "))
	out := flag.String("out", "", "the folder of recordings")
	only := flag.String("only", "", "only cases whose id contains this word; =ID is the case with this id")
	check := flag.Bool("check", false, "compare with the recordings in the folder instead of writing them")
	flag.Parse()
	if *command == "" || *out == "" || cases[*which] == nil {
		fmt.Fprintln(os.Stderr, "record needs -command, -out and -cases with one of:", strings.Join(lists(), ", "))
		os.Exit(2)
	}
	failed := false
	for _, c := range cases[*which]() {
		if id, exact := strings.CutPrefix(*only, "="); exact && c.ID != id || !exact && !strings.Contains(c.ID, *only) {
			continue
		}
		if err := one(strings.Fields(*command), c, filepath.Join(*out, c.ID+".json.gz"), *check); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.ID, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func lists() []string {
	var names []string
	for name := range cases {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// one records a case and writes or compares its file.
func one(command []string, c Case, path string, check bool) error {
	process, err := start(command)
	if err != nil {
		return err
	}
	recording, err := drive(process, c)
	cpu, ended := process.end()
	if err == nil {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("%w; its last words: %s", err, process.words())
	}
	text, err := pack(recording)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d targets, %d instructions, %s, %d bytes, %.1f s of CPU\n", c.ID, len(recording.Hello.Targets),
		len(recording.Deploy), recording.End, len(text), cpu.Seconds())
	if !check {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return compare(stored, text)
}

// compare compares the decompressed texts: another version of Go may compress differently.
func compare(stored, made []byte) error {
	var texts [2][]byte
	for i, packed := range [][]byte{stored, made} {
		reader, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return err
		}
		if texts[i], err = io.ReadAll(reader); err != nil {
			return err
		}
	}
	for i := range min(len(texts[0]), len(texts[1])) {
		if texts[0][i] != texts[1][i] {
			around := func(text []byte) []byte { return text[max(0, i-60):min(len(text), i+60)] }
			return fmt.Errorf("the recordings differ at byte %d:\n%s\n%s", i, around(texts[0]), around(texts[1]))
		}
	}
	if len(texts[0]) != len(texts[1]) {
		return fmt.Errorf("the recordings have %d and %d bytes", len(texts[0]), len(texts[1]))
	}
	return nil
}

func pack(recording *Recording) ([]byte, error) {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(recording); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// Duration is in nanoseconds, as everywhere in the protocol.
type Duration = time.Duration
