package main

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fleetsim/controllers/cosim"
)

// A Case is a rollout to record: the input of the controllers, and a fleet that follows simple rules.
type Case struct {
	// ID names the file; Note describes the case.
	ID   string `json:"id"`
	Note string `json:"note"`
	// Hello is the first message.
	Hello cosim.Hello `json:"hello"`
	// Fleet describes how targets behave.
	Fleet Fleet `json:"fleet"`
	// Script lists other events, by time.
	Script []cosim.News `json:"script,omitempty"`
	// Until ends the recording if the rollout has not ended before and no events are pending.
	Until Duration `json:"until"`
}

// A Fleet defines the news that follows an instruction to deploy a revision: applied after Apply, then ready after
// Ready, unless a target is an exception. A later instruction to the same application on the same target cancels
// pending news.
type Fleet struct {
	Apply Duration `json:"apply"`
	Ready Duration `json:"ready"`
	// Targets lists the exceptions, by number.
	Targets map[int]Exception `json:"targets,omitempty"`
	// Applications lists applications that behave differently, by number. What one of them says of a target goes before
	// what it says of all, and both before Targets.
	Applications map[int]Behaviour `json:"applications,omitempty"`
}

// A Behaviour is an application that behaves differently from the fleet.
type Behaviour struct {
	Exception
	Apply   *Duration         `json:"apply,omitempty"`
	Targets map[int]Exception `json:"targets,omitempty"`
}

// after returns how long a revision of an application takes on a target to be applied and, from then on, to be ready;
// ready is nil if it never is.
func (f Fleet) after(deploy cosim.Deploy) (apply Duration, ready *Duration) {
	own := f.Applications[deploy.Application]
	apply, ready = f.Apply, &f.Ready
	if own.Apply != nil {
		apply = *own.Apply
	}
	for _, exception := range []Exception{f.Targets[deploy.Target], own.Exception, own.Targets[deploy.Target]} {
		if slices.Contains(exception.Fails, deploy.Revision) {
			return apply, nil
		}
		if exception.Ready != nil {
			ready = exception.Ready
		}
	}
	return apply, ready
}

// An Exception is a target that behaves differently.
type Exception struct {
	Ready *Duration `json:"ready,omitempty"`
	// Fails lists revisions that never become ready on this target.
	Fails []int `json:"fails,omitempty"`
}

// A Recording is a case and what the controllers did.
type Recording struct {
	Case
	Product cosim.Ready `json:"product"`
	// Deploy lists instructions: time, target, revision; with several applications time, application, target, revision.
	Deploy [][]int64 `json:"deploy"`
	// Status lists changes of the product's line: time, text. It is left out with several applications.
	Status     []Line            `json:"status,omitempty"`
	Conditions []cosim.Condition `json:"conditions,omitempty"`
	Completed  [][2]int64        `json:"completed,omitempty"` // time, revision
	Failed     []Line            `json:"failed,omitempty"`
	// Applications is what became of each of several applications. Completed, Failed and Hold are empty then.
	Applications []Outcome `json:"applications,omitempty"`
	// End is the last status or hold. With several applications it is running if one of them runs, and otherwise failed
	// if one has failed.
	End   string     `json:"end"`
	Hold  cosim.Hold `json:"hold"`
	Now   Duration   `json:"now"`
	Total cosim.Bye  `json:"total"`
}

// An Outcome is what became of one of several applications.
type Outcome struct {
	Completed [][2]int64 `json:"completed,omitempty"` // time, revision
	Failed    []Line     `json:"failed,omitempty"`
	End       string     `json:"end"`
	Hold      cosim.Hold `json:"hold,omitzero"`
}

// A Line is a text at a time; in JSON a list of both.
type Line struct {
	At   Duration
	Text string
}

// MarshalJSON writes a list.
func (l Line) MarshalJSON() ([]byte, error) { return json.Marshal([]any{l.At, l.Text}) }

// due is a pending piece of news.
type due struct {
	at    Duration
	order int
	news  cosim.News
	// deployment is the number of the instruction that caused the news; 0 is the script.
	deployment int
}

type agenda []due

func (a agenda) Len() int      { return len(a) }
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].order < a[j].order
}
func (a *agenda) Push(x any) { *a = append(*a, x.(due)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

type driver struct {
	recording *Recording
	agenda    agenda
	order     int
	latest    map[place]int // the number of the last instruction
	over      bool
}

// place is an application on a target.
type place struct{ application, target int }

// of returns the place that news of a target speak of.
func of(news cosim.News) place {
	if news.Application == nil {
		return place{0, *news.Target}
	}
	return place{*news.Application, *news.Target}
}

// drive runs the controllers until the rollout has ended.
func drive(to controllers, c Case) (*Recording, error) {
	d := &driver{recording: &Recording{Case: c, Deploy: [][]int64{}}, latest: map[place]int{}}
	r := d.recording
	r.Applications = make([]Outcome, len(c.Hello.Applications))
	answer, err := to.ask(cosim.Question{Hello: &c.Hello})
	if err != nil {
		return r, err
	}
	if answer.Ready == nil {
		return r, fmt.Errorf("hello must be answered by ready")
	}
	r.Product = *answer.Ready
	for _, news := range c.Script {
		at := *news.At
		news.At = nil
		d.plan(at, news, 0)
	}
	for r.Now < c.Until && !(d.over && len(d.agenda) == 0) {
		run := cosim.Run{Until: c.Until}
		for len(d.agenda) > 0 && d.agenda[0].at <= r.Now {
			item := heap.Pop(&d.agenda).(due)
			if item.deployment == 0 || d.latest[of(item.news)] == item.deployment {
				run.News = append(run.News, item.news)
			}
		}
		if len(d.agenda) > 0 {
			run.Until = min(run.Until, d.agenda[0].at)
		}
		if answer, err = to.ask(cosim.Question{Run: &run}); err != nil {
			return r, err
		}
		if answer.Now < r.Now || answer.Now > run.Until {
			return r, fmt.Errorf("now is %d and must lie between %d and %d", answer.Now, r.Now, run.Until)
		}
		d.take(answer.Reply)
	}
	if err := d.holds(to); err != nil {
		return r, err
	}
	if answer, err = to.ask(cosim.Question{Bye: &struct{}{}}); err != nil {
		return r, err
	}
	if answer.Bye != nil {
		r.Total = *answer.Bye
	}
	return r, nil
}

// holds asks what holds each application that has not completed, or the only one.
func (d *driver) holds(to controllers) error {
	r := d.recording
	for application := range max(1, len(r.Applications)) {
		if r.hasSeveral() && r.Applications[application].End == "completed" {
			continue
		}
		answer, err := to.ask(cosim.Question{Hold: &cosim.Why{Application: application}})
		if err != nil {
			return err
		}
		switch {
		case answer.Hold == nil:
		case r.hasSeveral():
			r.Applications[application].Hold = *answer.Hold
		default:
			r.Hold = *answer.Hold
		}
	}
	return nil
}

func (d *driver) plan(at time.Duration, news cosim.News, deployment int) {
	d.order++
	heap.Push(&d.agenda, due{at: at, order: d.order, news: news, deployment: deployment})
}

// take records a reply and schedules its consequences.
func (d *driver) take(reply cosim.Reply) {
	r := d.recording
	r.Now = reply.Now
	for _, deploy := range reply.Deploy {
		line := []int64{int64(reply.Now), int64(deploy.Target), int64(deploy.Revision)}
		if r.hasSeveral() {
			line = slices.Insert(line, 1, int64(deploy.Application))
		}
		r.Deploy = append(r.Deploy, line)
		d.deployed(deploy)
	}
	if reply.Status != nil {
		r.Status = append(r.Status, Line{reply.Now, *reply.Status})
	}
	r.Conditions = append(r.Conditions, reply.Conditions...)
	if r.hasSeveral() {
		d.takeOutcomes(reply)
		return
	}
	if len(reply.Deploy) > 0 {
		d.over, r.End = false, "running"
	}
	if reply.Completed != nil {
		r.Completed = append(r.Completed, [2]int64{int64(reply.Now), int64(*reply.Completed)})
		d.over, r.End = true, "completed"
	}
	if reply.Failed != nil {
		r.Failed = append(r.Failed, Line{reply.Now, *reply.Failed})
		d.over, r.End = true, "failed"
	}
}

// takeOutcomes records what a reply says of each of several applications.
func (d *driver) takeOutcomes(reply cosim.Reply) {
	r := d.recording
	for _, deploy := range reply.Deploy {
		r.Applications[deploy.Application].End = "running"
	}
	for _, outcome := range reply.Outcomes {
		application := &r.Applications[outcome.Application]
		if outcome.Completed != nil {
			application.Completed = append(application.Completed, [2]int64{int64(reply.Now), int64(*outcome.Completed)})
			application.End = "completed"
		}
		if outcome.Failed != nil {
			application.Failed = append(application.Failed, Line{reply.Now, *outcome.Failed})
			application.End = "failed"
		}
	}
	d.over, r.End = true, "completed"
	for _, application := range r.Applications {
		switch application.End {
		case "completed":
		case "failed":
			if d.over {
				r.End = "failed"
			}
		default:
			d.over, r.End = false, "running"
		}
	}
}

func (r *Recording) hasSeveral() bool { return len(r.Hello.Applications) > 0 }

// deployed schedules the news that follows an instruction.
func (d *driver) deployed(deploy cosim.Deploy) {
	r, yes := d.recording, true
	number := len(r.Deploy)
	d.latest[place{deploy.Application, deploy.Target}] = number
	if deploy.Revision == 0 {
		return
	}
	news := cosim.News{Target: &deploy.Target, Applied: &deploy.Revision}
	if r.hasSeveral() {
		news.Application = &deploy.Application
	}
	apply, ready := r.Fleet.after(deploy)
	applied := r.Now + apply
	d.plan(applied, news, number)
	if ready != nil {
		news.Ready = &yes
		d.plan(applied+*ready, news, number)
	}
}
