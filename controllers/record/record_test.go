package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetsim/controllers/cosim"
)

// oneByOne deploys to the next target when the last is ready, and completes after the last.
type oneByOne struct {
	now   time.Duration
	n     int
	next  int
	ready bool
	lines []string
}

func (o *oneByOne) ask(question cosim.Question) (answer cosim.Answer, err error) {
	switch {
	case question.Hello != nil:
		o.n, o.ready = len(question.Hello.Targets), true
		answer.Ready = &cosim.Ready{Name: "one by one"}
	case question.Run != nil:
		for _, news := range question.Run.News {
			line, _ := json.Marshal(news)
			o.lines = append(o.lines, fmt.Sprint(o.now, " ", string(line)))
			o.ready = o.ready || news.Ready != nil
		}
		if o.ready && o.next < o.n {
			o.ready = false
			answer.Deploy = []cosim.Deploy{{Target: o.next, Revision: 2}}
			o.next++
		} else if o.ready && o.next == o.n {
			revision := 2
			answer.Completed = &revision
			o.next++
		} else {
			o.now = question.Run.Until
		}
		answer.Now = o.now
	case question.Hold != nil:
		answer.Hold = &cosim.Hold{Rule: "rule"}
	case question.Bye != nil:
		answer.Bye = &cosim.Bye{Passes: map[string]int{"loop": 1}}
	}
	return answer, nil
}

func TestNewsFollowsInstructions(t *testing.T) {
	o := &oneByOne{}
	r, err := drive(o, rollout("x", "", 3, "", slow(2, time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Deploy); got != "[[0 0 2] [20100000000 1 2] [80200000000 2 2]]" || r.End != "completed" {
		t.Errorf("recorded %s, %s", got, r.End)
	}
	want := []string{
		`100ms {"target":0,"applied":2}`, `20.1s {"target":0,"applied":2,"ready":true}`,
		`20.2s {"target":1,"applied":2}`, `1m20.2s {"target":1,"applied":2,"ready":true}`,
		`1m20.3s {"target":2,"applied":2}`, `1m40.3s {"target":2,"applied":2,"ready":true}`,
	}
	if !slices.Equal(o.lines, want) {
		t.Errorf("told %s", strings.Join(o.lines, "\n"))
	}
}

func TestAFailingTargetIsNeverReadyAndTheRecordingEnds(t *testing.T) {
	o := &oneByOne{}
	offline := cut(3, 0, time.Minute)
	r, err := drive(o, rollout("x", "", 3, "", failing(2, 2), offline, until(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Deploy) != 2 || r.End != "running" || r.Now != time.Hour || !r.Hello.Targets[2].Offline {
		t.Errorf("recorded %v, %s at %v", r.Deploy, r.End, r.Now)
	}
	if last := o.lines[len(o.lines)-1]; last != `1m0s {"target":2,"offline":false}` {
		t.Errorf("told %s", last)
	}
}

func TestALaterInstructionTakesNewsBack(t *testing.T) {
	d := &driver{recording: &Recording{Case: rollout("x", "", 1, "")}, latest: map[place]int{}}
	d.take(cosim.Reply{Now: 0, Deploy: []cosim.Deploy{{Target: 0, Revision: 2}}})
	d.take(cosim.Reply{Now: 5 * time.Second, Deploy: []cosim.Deploy{{Target: 0, Revision: 3}}})
	var kept int
	for _, item := range d.agenda {
		if d.latest[place{}] == item.deployment {
			kept++
		}
	}
	if kept != 2 || len(d.agenda) != 4 {
		t.Errorf("%d of %d kept", kept, len(d.agenda))
	}
}

func TestRecordingsCompare(t *testing.T) {
	pack := func(text string) []byte {
		packed, err := pack(&Recording{End: text})
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	if err := compare(pack("same"), pack("same")); err != nil {
		t.Error(err)
	}
	if err := compare(pack("one"), pack("other")); err == nil {
		t.Error("different recordings are equal")
	}
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	for name, list := range cases {
		seen := map[string]bool{}
		for _, c := range list() {
			if seen[c.ID] || c.ID == "" || c.Note == "" {
				t.Errorf("%s: %q is used twice, or lacks a name or note", name, c.ID)
			}
			seen[c.ID] = true
		}
		least := 60
		if strings.HasSuffix(name, "-apps") {
			least = 15
		}
		if len(seen) < least {
			t.Errorf("%s has %d cases", name, len(seen))
		}
	}
}

// twoApplications deploys two applications everywhere at once, and completes each when all its targets are ready.
type twoApplications struct {
	now   time.Duration
	n     int
	ready [2]int
	begun bool
}

func (b *twoApplications) ask(question cosim.Question) (answer cosim.Answer, err error) {
	switch {
	case question.Hello != nil:
		b.n = len(question.Hello.Targets)
		answer.Ready = &cosim.Ready{Name: "two applications"}
	case question.Run != nil:
		for _, news := range question.Run.News {
			if news.Ready == nil {
				continue
			}
			b.ready[*news.Application]++
			if revision := 2; b.ready[*news.Application] == b.n {
				answer.Outcomes = append(answer.Outcomes, cosim.Outcome{Application: *news.Application, Completed: &revision})
			}
		}
		for target := 0; !b.begun && target < b.n; target++ {
			answer.Deploy = append(answer.Deploy, cosim.Deploy{Application: 0, Target: target, Revision: 2},
				cosim.Deploy{Application: 1, Target: target, Revision: 2})
		}
		if b.begun && len(answer.Outcomes) == 0 {
			b.now = question.Run.Until
		}
		b.begun = true
		answer.Now = b.now
	case question.Hold != nil:
		answer.Hold = &cosim.Hold{Rule: fmt.Sprint("rule ", question.Hold.Application)}
	case question.Bye != nil:
		answer.Bye = &cosim.Bye{}
	}
	return answer, nil
}

func TestEachApplicationHasItsOwnNewsAndEnd(t *testing.T) {
	soon := 5 * time.Second
	none := func(int) string { return "" }
	r, err := drive(&twoApplications{}, side("x", "", 2, 2, none, slow(2, time.Minute), until(time.Hour),
		behaving(1, Behaviour{Exception: Exception{Ready: &soon}})))
	if err != nil {
		t.Fatal(err)
	}
	// The second target takes a minute, and the second application 5 s everywhere.
	if got := fmt.Sprint(r.Applications) + r.End; got != "[{[[60100000000 2]] [] completed { }} {[[5100000000 2]] [] completed { }}]completed" {
		t.Error(got)
	}
	if got := fmt.Sprint(r.Deploy); got != "[[0 0 0 2] [0 1 0 2] [0 0 1 2] [0 1 1 2]]" {
		t.Error(got)
	}
	r, err = drive(&twoApplications{}, side("x", "", 2, 2, none, breaking(1, 2), until(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if r.End != "running" || r.Applications[0].End != "completed" || r.Applications[1].Hold.Rule != "rule 1" {
		t.Error(r.End, r.Applications)
	}
}
