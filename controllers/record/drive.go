package main

import (
	"container/heap"
	"encoding/json"
	"fmt"
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
// Ready, unless a target is an exception. A later instruction to the same target cancels pending news.
type Fleet struct {
	Apply Duration `json:"apply"`
	Ready Duration `json:"ready"`
	// Targets lists the exceptions, by number.
	Targets map[int]Exception `json:"targets,omitempty"`
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
	// Deploy lists instructions: time, target, revision.
	Deploy [][3]int64 `json:"deploy"`
	// Status lists changes of the product's line: time, text.
	Status     []Line            `json:"status,omitempty"`
	Conditions []cosim.Condition `json:"conditions,omitempty"`
	Completed  [][2]int64        `json:"completed,omitempty"` // time, revision
	Failed     []Line            `json:"failed,omitempty"`
	// End is the last status or hold.
	End   string     `json:"end"`
	Hold  cosim.Hold `json:"hold"`
	Now   Duration   `json:"now"`
	Total cosim.Bye  `json:"total"`
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
	latest    map[int]int // target -> its last instruction's number
	over      bool
}

// drive runs the controllers until the rollout has ended.
func drive(to controllers, c Case) (*Recording, error) {
	d := &driver{recording: &Recording{Case: c, Deploy: [][3]int64{}}, latest: map[int]int{}}
	r := d.recording
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
			if item.deployment == 0 || d.latest[*item.news.Target] == item.deployment {
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
	if answer, err = to.ask(cosim.Question{Hold: &struct{}{}}); err != nil {
		return r, err
	}
	if answer.Hold != nil {
		r.Hold = *answer.Hold
	}
	if answer, err = to.ask(cosim.Question{Bye: &struct{}{}}); err != nil {
		return r, err
	}
	if answer.Bye != nil {
		r.Total = *answer.Bye
	}
	return r, nil
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
		r.Deploy = append(r.Deploy, [3]int64{int64(reply.Now), int64(deploy.Target), int64(deploy.Revision)})
		d.deployed(deploy)
	}
	if reply.Status != nil {
		r.Status = append(r.Status, Line{reply.Now, *reply.Status})
	}
	r.Conditions = append(r.Conditions, reply.Conditions...)
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

// deployed schedules the news that follows an instruction.
func (d *driver) deployed(deploy cosim.Deploy) {
	r, yes := d.recording, true
	number := len(r.Deploy)
	d.latest[deploy.Target] = number
	if deploy.Revision == 0 {
		return
	}
	exception := r.Fleet.Targets[deploy.Target]
	applied := r.Now + r.Fleet.Apply
	d.plan(applied, cosim.News{Target: &deploy.Target, Applied: &deploy.Revision}, number)
	for _, revision := range exception.Fails {
		if revision == deploy.Revision {
			return
		}
	}
	ready := r.Fleet.Ready
	if exception.Ready != nil {
		ready = *exception.Ready
	}
	d.plan(applied+ready, cosim.News{Target: &deploy.Target, Applied: &deploy.Revision, Ready: &yes}, number)
}
