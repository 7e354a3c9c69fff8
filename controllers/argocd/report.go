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
func (s *set) observe(w virtualapi.World, set virtualapi.Object) {
	before, session := s.known, s.product.s
	s.known = read(set)
	object := "ApplicationSet/" + s.object.Name
	status := child(set, "status")
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		kind := text(item.(virtualapi.Object), "type")
		if now := s.known.conditions[kind]; now != before.conditions[kind] {
			session.Condition(cosim.Condition{
				Object: object, Condition: kind, Status: now.status, Reason: now.reason, Message: now.message,
			})
		}
	}
	rows, _ := status["applicationStatus"].([]any)
	for _, item := range rows {
		name := text(item.(virtualapi.Object), "application")
		if now := s.known.rows[name]; now != before.rows[name] {
			session.Condition(cosim.Condition{
				Object: object, Condition: "applicationStatus/" + name, Status: now.status, Reason: "step " + now.step,
				Message: now.message,
			})
		}
	}
	session.Status(s.number, s.known.line)
	if before.conditions[progressing].status == "True" && s.known.conditions[progressing].status == "False" {
		s.reportCompleted()
	}
	s.finish(w)
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
func (s *set) reportCompleted() {
	if s.product.started && s.completed != s.latest {
		s.completed = s.latest
		s.product.s.Completed(s.number, s.latest)
	}
}

// finish reports the end of a rollout without steps, which the set's status does not show: the set has listed all its
// Applications, and all are Synced and Healthy at the newest revision.
func (s *set) finish(w virtualapi.World) {
	if _, steps := s.known.conditions[progressing]; !steps && s.completed != s.latest && s.settled(w) {
		s.reportCompleted()
	}
}

// settled says whether all Applications and all rows are Synced and Healthy at the newest revision.
func (s *set) settled(w virtualapi.World) bool {
	set := w.Get(group, "applicationsets", namespace, s.object.Name)
	if set == nil {
		return s.latest == 0
	}
	count := 0
	for _, a := range s.applications {
		if a.name == "" {
			continue
		}
		count++
		if a.compared != s.latest || !a.synced || a.seen.health() != "Healthy" {
			return false
		}
	}
	listed := child(set, "status")["resourcesCount"]
	if listed == nil || fmt.Sprint(listed) != fmt.Sprint(count) {
		return false
	}
	for _, row := range s.known.rows {
		if row.status != "Healthy" {
			return false
		}
	}
	return true
}

// Hold quotes the set: an error, or the first Application that holds up the rollout.
func (p *product) Hold(application int) (hold cosim.Hold) {
	s := p.sets[application]
	p.api.Do(func(w virtualapi.World) {
		if now := s.known.conditions[wrong]; now.status == "True" {
			hold = cosim.Hold{Rule: now.reason, Explanation: now.message}
			return
		}
		now := s.known.conditions[progressing]
		for _, object := range w.List(group, "applications") {
			if p.owner(object) != s {
				continue
			}
			name := text(child(object, "metadata"), "name")
			row, listed := s.known.rows[name]
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
