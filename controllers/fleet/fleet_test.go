package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fleetsim/controllers/cosim"
)

// TestMain runs the program itself when a test starts it as a process: the bubble needs its own process.
func TestMain(m *testing.M) {
	if os.Getenv("FLEET_TEST_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

// talk sends lines to a new process and returns its answers.
func talk(t *testing.T, lines ...string) ([]cosim.Answer, []byte) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "FLEET_TEST_PROGRAM=1")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, _ := command.Output()
	var answers []cosim.Answer
	for line := range bytes.Lines(out) {
		var answer cosim.Answer
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		answers = append(answers, answer)
	}
	return answers, out
}

// hello returns the first message for n clusters that run the installed revision.
func hello(n, installed int, yaml string) string {
	h := cosim.Hello{Protocol: 1, Files: map[string]string{"fleet.yaml": yaml},
		Release: cosim.Release{Installed: installed, Revision: installed + 1}}
	for i := range n {
		h.Targets = append(h.Targets, cosim.Target{Name: fmt.Sprintf("c%02d", i)})
	}
	line, _ := json.Marshal(cosim.Question{Hello: &h})
	return string(line)
}

const bye = `{"bye": {}}`

// told counts instructions by revision.
func told(answers []cosim.Answer) map[int]int {
	counts := map[int]int{}
	for _, answer := range answers {
		for _, deploy := range answer.Deploy {
			counts[deploy.Revision]++
		}
	}
	return counts
}

func until(seconds int, times int) []string {
	var lines []string
	for range times {
		lines = append(lines, fmt.Sprintf(`{"run": {"until": %d}}`, seconds*1e9))
	}
	return lines
}

func TestMaxUnavailableLimitsUpdatesAndNotFirstDeployments(t *testing.T) {
	yaml := "rolloutStrategy: {maxUnavailable: 3}"
	for installed, want := range map[int]int{0: 10, 1: 3} {
		lines := append([]string{hello(10, installed, yaml)}, until(60, 11)...)
		answers, _ := talk(t, append(lines, `{"hold": {}}`, bye)...)
		if got := told(answers)[installed+1]; got != want {
			t.Errorf("%d clusters were told revision %d and not %d", got, installed+1, want)
		}
		hold := answers[len(answers)-2].Hold
		if installed == 1 && (hold == nil || hold.Rule != "maxUnavailable") {
			t.Errorf("the hold is %v", hold)
		}
	}
}

func TestReadinessIsReportedFiveSecondsLate(t *testing.T) {
	news := func(text string) string { return `{"run": {"until": 60000000000, "news": [` + text + `]}}` }
	answers, _ := talk(t, hello(1, 1, ""), `{"run": {"until": 60000000000}}`, `{"run": {"until": 1000000000}}`,
		strings.Replace(news(`{"target": 0, "applied": 2}`), "60000", "20000", 1),
		news(`{"target": 0, "ready": true}`), bye)
	last := answers[len(answers)-2]
	// Ready at 20 s, written by the agent 5 s and a request later. Then a pass sees it after a watch, a delete and a
	// patch.
	if last.Completed == nil || *last.Completed != 2 || last.Now.Milliseconds() != 25_020 {
		t.Fatalf("completed %v at %v", last.Completed, last.Now)
	}
}

func TestABadStrategyIsFleetsOwnMessage(t *testing.T) {
	answers, _ := talk(t, hello(2, 1, "rolloutStrategy: {maxUnavailable: many}"), until(60, 1)[0], `{"hold": {}}`, bye)
	hold := answers[len(answers)-2].Hold
	if hold == nil || hold.Rule != "rolloutStrategy" || !strings.Contains(hold.Explanation, "invalid") {
		t.Fatalf("%+v", hold)
	}
	if answers, _ := talk(t, hello(2, 1, "rolloutStrategi: {}")); answers[0].Error == nil {
		t.Fatal("a field that Fleet does not know was accepted")
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	lines := append([]string{hello(30, 0, "helm: {values: {a: 1}}")}, until(60, 31)...)
	lines = append(lines, `{"run": {"until": 90000000000, "news": [{"target": 1, "selected": false},`+
		`{"target": 2, "selected": false}, {"target": 4, "labels": {"a": "b"}}, {"release": 2}]}}`)
	lines = append(append(lines, until(120, 40)...), bye)
	_, first := talk(t, lines...)
	if _, again := talk(t, lines...); !bytes.Equal(first, again) {
		t.Fatalf("%s\n%s", first, again)
	}
}

// several returns the first message for a number of bundles that are new to a number of clusters.
func several(bundles, clusters int, settings map[string]string) string {
	h := cosim.Hello{Protocol: 1, Settings: settings}
	for i := range clusters {
		h.Targets = append(h.Targets, cosim.Target{Name: fmt.Sprintf("c%02d", i)})
	}
	for i := range bundles {
		h.Applications = append(h.Applications, cosim.Application{
			Name: fmt.Sprintf("app-%02d", i), Release: cosim.Release{Revision: 1},
		})
	}
	line, _ := json.Marshal(cosim.Question{Hello: &h})
	return string(line)
}

// deployed lists the instructions of answers: application, target, and the second of its time.
func deployed(answers []cosim.Answer) []string {
	var list []string
	for _, answer := range answers {
		for _, deploy := range answer.Deploy {
			list = append(list, fmt.Sprintf("%d/%d at %.1f s", deploy.Application, deploy.Target, answer.Now.Seconds()))
		}
	}
	return list
}

func TestAnAgentReadsTenContentsAtOnceAndThenFiveASecond(t *testing.T) {
	answers, _ := talk(t, append(append([]string{several(13, 1, nil)}, until(20, 14)...), bye)...)
	got := deployed(answers)
	want := []string{"at 0.2 s", "at 0.4 s", "at 0.6 s"}
	// The first ten are instructed as soon as the hub has told the agent, within 0.1 s.
	if len(got) != 13 || !strings.Contains(got[9], "at 0.1 s") && !strings.Contains(got[9], "at 0.0 s") {
		t.Fatal(got)
	}
	first := got[9]
	for i, line := range got[10:] {
		if strings.HasSuffix(line, first[strings.Index(first, "at"):]) {
			t.Errorf("%s comes at once; want about %s", line, want[i])
		}
	}
	open, _ := talk(t, append(append([]string{several(13, 1, map[string]string{"agent.clientQps": "0"})}, until(20, 14)...), bye)...)
	for _, line := range deployed(open) {
		if !strings.Contains(line, "at 0.0 s") && !strings.Contains(line, "at 0.1 s") {
			t.Errorf("%s without a limit", line)
		}
	}
}

func TestAnAgentWithOneWorkerAppliesOneAfterTheOther(t *testing.T) {
	one := map[string]string{"agent.BUNDLEDEPLOYMENT_RECONCILER_WORKERS": "1"}
	news := func(application int) string {
		return fmt.Sprintf(`{"run": {"until": 30000000000, "news": [{"application": %d, "target": 0, "applied": 1}]}}`, application)
	}
	lines := append([]string{several(2, 1, one)}, until(10, 2)...)
	answers, _ := talk(t, append(lines, bye)...)
	if got := deployed(answers); len(got) != 1 || !strings.HasPrefix(got[0], "0/0") {
		t.Fatal(got)
	}
	answers, _ = talk(t, append(append(lines, news(0)), bye)...)
	if got := deployed(answers); len(got) != 2 || got[1] != "1/0 at 10.0 s" {
		t.Fatal(got)
	}
}
