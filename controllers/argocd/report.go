package main

import (
	"fmt"

	"fleetsim/controllers/cosim"
	"fleetsim/controllers/virtualapi"
)

// bookkeeping is what has been reported about the set.
type bookkeeping struct {
	conditions map[string]condition
	rows       map[string]row
	line       string
}

// condition is a condition of the ApplicationSet.
type condition struct{ status, reason, message string }

// row is a row of status.applicationStatus.
type row struct{ status, step, message string }

const (
	progressing = "RolloutProgressing"
	upToDate    = "ResourcesUpToDate"
	wrong       = "ErrorOccurred"
)

// observeSet reports the controller's changes to the set's status.
func (p *product) observeSet(w virtualapi.World, set virtualapi.Object) {
	before := p.known
	p.known = read(set)
	object := "ApplicationSet/" + p.set.Name
	status := child(set, "status")
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		kind := text(item.(virtualapi.Object), "type")
		if now := p.known.conditions[kind]; now != before.conditions[kind] {
			p.s.Condition(cosim.Condition{
				Object: object, Condition: kind, Status: now.status, Reason: now.reason, Message: now.message,
			})
		}
	}
	rows, _ := status["applicationStatus"].([]any)
	for _, item := range rows {
		name := text(item.(virtualapi.Object), "application")
		if now := p.known.rows[name]; now != before.rows[name] {
			p.s.Condition(cosim.Condition{
				Object: object, Condition: "applicationStatus/" + name, Status: now.status, Reason: "step " + now.step,
				Message: now.message,
			})
		}
	}
	p.s.Status(p.known.line)
	if before.conditions[progressing].status == "True" && p.known.conditions[progressing].status == "False" {
		p.reportCompleted()
	}
	p.finish(w)
}

func read(set virtualapi.Object) bookkeeping {
	status := child(set, "status")
	known := bookkeeping{conditions: map[string]condition{}, rows: map[string]row{}}
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		item := item.(virtualapi.Object)
		known.conditions[text(item, "type")] = condition{text(item, "status"), text(item, "reason"), text(item, "message")}
	}
	rows, _ := status["applicationStatus"].([]any)
	for _, item := range rows {
		item := item.(virtualapi.Object)
		known.rows[text(item, "application")] = row{text(item, "status"), text(item, "step"), text(item, "message")}
	}
	known.line = known.conditions[upToDate].message
	if now, ok := known.conditions[progressing]; ok {
		known.line = now.message
	}
	if now := known.conditions[wrong]; now.status == "True" {
		known.line = now.message
	}
	return known
}

// reportCompleted reports the end of a rollout once.
func (p *product) reportCompleted() {
	if p.started && p.completed != p.latest {
		p.completed = p.latest
		p.s.Completed(p.latest)
	}
}

// finish reports the end of a rollout without steps, which the set's status does not show: the set has listed all its
// Applications, and all are Synced and Healthy at the newest revision.
func (p *product) finish(w virtualapi.World) {
	if _, steps := p.known.conditions[progressing]; !steps && p.completed != p.latest && p.settled(w) {
		p.reportCompleted()
	}
}

// settled says whether all Applications and all rows are Synced and Healthy at the newest revision.
func (p *product) settled(w virtualapi.World) bool {
	set := w.Get(group, "applicationsets", namespace, p.set.Name)
	if set == nil {
		return p.latest == 0
	}
	count := 0
	for _, a := range p.applications {
		if a.name == "" {
			continue
		}
		count++
		if a.compared != p.latest || !a.synced || a.seen.health() != "Healthy" {
			return false
		}
	}
	listed := child(set, "status")["resourcesCount"]
	if listed == nil || fmt.Sprint(listed) != fmt.Sprint(count) {
		return false
	}
	for _, row := range p.known.rows {
		if row.status != "Healthy" {
			return false
		}
	}
	return true
}

// Hold quotes the set: an error, or the first Application that holds up the rollout.
func (p *product) Hold() (hold cosim.Hold) {
	p.api.Do(func(w virtualapi.World) {
		if now := p.known.conditions[wrong]; now.status == "True" {
			hold = cosim.Hold{Rule: now.reason, Explanation: now.message}
			return
		}
		now := p.known.conditions[progressing]
		for _, object := range w.List(group, "applications") {
			name := text(child(object, "metadata"), "name")
			row, listed := p.known.rows[name]
			if listed && row.status != "Healthy" && now.message == "ApplicationSet is performing rollout of step "+row.step {
				hold = cosim.Hold{Rule: now.reason, Explanation: fmt.Sprintf("%s; %s is %s: %s", now.message, name, row.status,
					row.message)}
				return
			}
			status := child(object, "status")
			sync, health := text(child(status, "sync"), "status"), text(child(status, "health"), "status")
			if hold.Rule == "" && (sync != "Synced" || health != "Healthy") {
				hold = cosim.Hold{Rule: sync, Explanation: fmt.Sprintf("%s is %s and %s", name, sync, health)}
			}
		}
	})
	return hold
}

func text(object virtualapi.Object, field string) string {
	value, _ := object[field].(string)
	return value
}
