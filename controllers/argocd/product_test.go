package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fleetsim/controllers/cosim"
)

// TestMain runs the program itself when a test starts it as a process: the bubble needs its own process.
func TestMain(m *testing.M) {
	if os.Getenv("ARGOCD_TEST_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

// talk sends a first message and n messages to let a minute pass to a new process, and returns its answers.
func talk(t *testing.T, hello cosim.Hello, n int) []cosim.Answer {
	t.Helper()
	first, err := json.Marshal(cosim.Question{Hello: &hello})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "ARGOCD_TEST_PROGRAM=1")
	command.Stdin = strings.NewReader(string(first) + "\n" + strings.Repeat(`{"run": {"until": 60000000000}}`+"\n", n) +
		`{"bye": {}}` + "\n")
	out, _ := command.Output()
	var answers []cosim.Answer
	for line := range bytes.Lines(out) {
		var answer cosim.Answer
		if err := json.Unmarshal(line, &answer); err != nil || answer.Error != nil {
			t.Fatalf("%v in %s", err, line)
		}
		answers = append(answers, answer)
	}
	return answers
}

func TestSetsShareTheOperationProcessors(t *testing.T) {
	hello := cosim.Hello{Protocol: 1, Targets: []cosim.Target{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for i, clusters := range [][]int{nil, {0, 2}} {
		hello.Applications = append(hello.Applications, cosim.Application{
			Name: fmt.Sprint("set-", i), Clusters: clusters, Release: cosim.Release{Installed: 1, Revision: 2},
		})
	}
	// Nothing is ever applied here, so an operation keeps its processor.
	for limit, want := range map[string]int{"4": 4, "5": 5, "6": 5} {
		hello.Settings = map[string]string{"ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS": limit}
		told := map[string]bool{}
		for _, answer := range talk(t, hello, 6) {
			for _, deploy := range answer.Deploy {
				told[fmt.Sprint(deploy.Application, "/", deploy.Target)] = true
			}
		}
		if len(told) != want || told["1/1"] {
			t.Errorf("%s processors: %v", limit, told)
		}
	}
}

func TestAReleaseComesAtItsTime(t *testing.T) {
	hello := cosim.Hello{Protocol: 1, Targets: []cosim.Target{{Name: "a"}}, Applications: []cosim.Application{
		{Name: "now", Release: cosim.Release{Installed: 1, Revision: 2}},
		{Name: "later", Release: cosim.Release{Revision: 1, At: 30 * time.Second}},
	}}
	for _, answer := range talk(t, hello, 4) {
		for _, deploy := range answer.Deploy {
			if at := answer.Now.Seconds(); deploy.Application == 0 && at > 1 || deploy.Application == 1 && (at < 30 || at > 31) {
				t.Errorf("%+v at %v", deploy, answer.Now)
			}
		}
	}
}
