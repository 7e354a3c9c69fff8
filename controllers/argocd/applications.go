package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"

	"fleetsim/controllers/cosim"
	"fleetsim/controllers/virtualapi"
)

// This file models Argo CD's application controller with the fewest rules that let the set observe realistic states.
//
//   - It sees an Application's new spec or operation one watch delay after the write. Its own writes take one request.
//   - A new spec is compared with the cluster: Synced if the cluster has applied the template's revision, OutOfSync
//     otherwise; in both cases at that revision. News of the cluster and the end of an operation also cause a
//     comparison.
//   - A comparison occupies a status processor while it runs. An operation occupies an operation processor except
//     while it waits for its retry (processors.go). Without settings there is no limit, and neither takes any time.
//   - An operation that will be repeated is compared first and then waits for a processor.
//   - An operation is Running from the controller's first write on; that write also sends the instruction to deploy to
//     the cluster. It has Succeeded when the cluster has applied the revision. An operation that finds the revision
//     applied deploys nothing and takes a second: a guess, as in fleetsim's own application controller.
//   - Health is Missing before anything was applied, Degraded if the cluster says that it fails, Healthy if it is ready,
//     and Progressing otherwise.
//   - A cluster that is offline does not answer: an attempt fails after the connection's timeout, and so it does if the
//     cluster says that it fails before it has applied. That is news of the attempt, and not of health. The operation's
//     own retry says what comes next. What is known of the cluster stays as it was until it is back.
//   - An Application with automated sync starts an operation of its own when it is found OutOfSync, once a revision.
//   - Of an Application that is deleted with Argo CD's finalizer, revision 0 is deployed.
type application struct {
	set      *set
	target   int
	number   int    // among those of all sets
	name     string // of the Application, if it exists
	selected bool
	// The cluster's state, and the controller's view of it.
	cluster, seen workload
	compared      int  // the revision of the last comparison
	asking        bool // for the manifests of another revision
	comparing     bool
	compares      []func(virtualapi.World) // run when it ends
	processing    bool                     // it has an operation processor
	synced        bool
	operation     operation
	attempted     int // the revision of the last operation that has ended
}

type workload struct {
	applied int
	ready   bool
	failing string
}

type operation struct {
	running    bool
	revision   int
	retries    int64
	attempting bool
}

const finalizer = "resources-finalizer.argocd.argoproj.io"

func (p *product) key(what string, a *application) string {
	return fmt.Sprintf("%s of %06d", what, a.number)
}

// request runs a function one request later.
func (p *product) request(w virtualapi.World, what string, a *application, function func(virtualapi.World)) {
	key := p.key(what, a)
	w.Later(w.Latency("application-controller", "patch", key), key, function)
}

// observe handles every write.
func (p *product) observe(w virtualapi.World, change virtualapi.Change) {
	switch change.Resource.Kind {
	case "ApplicationSet":
		if set := p.named(text(child(change.Object, "metadata"), "name")); set != nil {
			set.observe(w, change.Object)
		}
	case "Application":
		p.observeApplication(w, change)
	}
}

// named finds a set.
func (p *product) named(name string) *set {
	for _, set := range p.sets {
		if set.object.Name == name {
			return set
		}
	}
	return nil
}

// owner finds the set of an Application.
func (p *product) owner(object virtualapi.Object) *set {
	if !p.s.Several() {
		return p.sets[0]
	}
	owners, _ := child(object, "metadata")["ownerReferences"].([]any)
	if len(owners) == 0 {
		return nil
	}
	return p.named(text(owners[0].(virtualapi.Object), "name"))
}

// targetOf finds the set and the cluster of an Application.
func (p *product) targetOf(object virtualapi.Object) *application {
	destination := child(child(object, "spec"), "destination")
	name, _ := destination["name"].(string)
	if name == "" {
		url, _ := destination["server"].(string)
		name = strings.TrimPrefix(url, "https://")
	}
	target, ok := p.byName[name]
	if set := p.owner(object); ok && set != nil {
		return set.applications[target]
	}
	return nil
}

func (p *product) observeApplication(w virtualapi.World, change virtualapi.Change) {
	a := p.targetOf(change.Object)
	if a == nil {
		return
	}
	if change.Type == "DELETED" {
		a.name, a.operation, a.compared, a.attempted = "", operation{}, 0, 0
		p.done(w, a)
		return
	}
	a.name = child(change.Object, "metadata")["name"].(string)
	if change.Client != "" {
		w.Later(*p.s.Hello.Latency.Watch, p.key("watch", a), func(w virtualapi.World) { p.see(w, a) })
	}
}

// object returns the Application of a cluster, or nil.
func (p *product) object(w virtualapi.World, a *application) virtualapi.Object {
	if a.name == "" {
		return nil
	}
	return w.Get(group, "applications", namespace, a.name)
}

// see handles a write by others, as the application controller does.
func (p *product) see(w virtualapi.World, a *application) {
	object := p.object(w, a)
	if object == nil {
		return
	}
	if child(object, "metadata")["deletionTimestamp"] != nil {
		p.finalize(w, a)
		return
	}
	if wanted(object) != a.compared && !a.asking {
		a.asking = true
		p.request(w, "comparison", a, func(w virtualapi.World) {
			a.asking = false
			p.compare(w, a, nil)
		})
	}
	if object["operation"] != nil && !a.operation.running {
		p.begin(w, a)
	}
}

// compare compares an Application, and then reports on it with another change in the same write. Requests that arrive
// before a comparison ends join it. A change does not wait for a comparison that takes time.
func (p *product) compare(w virtualapi.World, a *application, change func(virtualapi.Object)) {
	if p.options.comparison == 0 {
		p.report(w, a, change)
		return
	}
	if change != nil && p.object(w, a) != nil {
		must(w.Update(group, "applications", namespace, a.name, false, change))
	}
	if a.comparing {
		return
	}
	a.comparing = true
	p.comparers.take(w, func(w virtualapi.World) {
		w.Later(p.options.comparison, p.key("compared", a), func(w virtualapi.World) {
			a.comparing = false
			p.report(w, a, nil)
			p.comparers.free(w)
			waiting := a.compares
			a.compares = nil
			for _, next := range waiting {
				next(w)
			}
		})
	})
}

// afterComparison runs a function when the requested comparison ends.
func (p *product) afterComparison(w virtualapi.World, a *application, next func(virtualapi.World)) {
	if a.comparing {
		a.compares = append(a.compares, next)
	} else {
		next(w)
	}
}

// report writes the known state of the cluster, with another change in the same write.
func (p *product) report(w virtualapi.World, a *application, change func(virtualapi.Object)) {
	object := p.object(w, a)
	if object == nil {
		return
	}
	a.compared = wanted(object)
	if !p.started {
		// Everything before time 0 happened immediately.
		a.cluster = workload{applied: a.compared, ready: true}
		a.seen = a.cluster
	}
	a.synced = a.seen.applied == a.compared
	automatic := !a.synced && !a.operation.running && a.attempted != a.compared && automated(object)
	must(w.Update(group, "applications", namespace, a.name, false, func(o virtualapi.Object) {
		status := child(o, "status")
		o["status"] = status
		if change != nil {
			change(o)
		}
		if automatic {
			o["operation"] = argo.Operation{
				Sync: &argo.SyncOperation{Revision: commit(a.compared)}, Retry: retry(object),
				InitiatedBy: argo.OperationInitiator{Automated: true},
			}
		}
		state := argo.SyncStatusCodeOutOfSync
		if a.synced {
			state = argo.SyncStatusCodeSynced
		}
		status["sync"] = virtualapi.Object{"status": state, "revision": commit(a.compared)}
		status["health"] = virtualapi.Object{"status": a.seen.health()}
		status["reconciledAt"] = now()
	}))
	if automatic {
		p.begin(w, a)
	}
	if p.s.Hello.Seen {
		revision, ready := a.compared, a.synced && a.seen.health() == "Healthy"
		w.Later(*p.s.Hello.Latency.Watch, p.key("seen", a), func(virtualapi.World) {
			p.s.Seen(a.set.number, a.target, revision, ready)
		})
	}
	a.set.finish(w)
}

func (l workload) health() string {
	switch {
	case l.applied == 0:
		return "Missing"
	case l.failing != "":
		return "Degraded"
	case l.ready:
		return "Healthy"
	}
	return "Progressing"
}

// begin starts the operation that an Application has.
func (p *product) begin(w virtualapi.World, a *application) {
	a.operation = operation{running: true}
	p.process(w, a, func(w virtualapi.World) {
		p.request(w, "operation", a, func(w virtualapi.World) {
			object := p.object(w, a)
			if object == nil {
				p.done(w, a)
				return
			}
			a.operation.revision = wanted(object)
			must(w.Update(group, "applications", namespace, a.name, false, func(o virtualapi.Object) {
				status := child(o, "status")
				status["operationState"] = virtualapi.Object{
					"operation": o["operation"], "phase": "Running", "startedAt": now(),
				}
				o["status"] = status
			}))
			p.attempt(w, a)
		})
	})
}

// attempt lets the cluster apply after the attempt's own requests and computation, if the cluster answers.
func (p *product) attempt(w virtualapi.World, a *application) {
	var wait time.Duration
	if !p.offline[a.target] {
		wait = p.options.syncs.sync()
	}
	if wait > 0 {
		w.Later(wait, p.key("sync", a), func(w virtualapi.World) { p.apply(w, a) })
	} else {
		p.apply(w, a)
	}
}

func (p *product) apply(w virtualapi.World, a *application) {
	if !a.operation.running {
		p.done(w, a)
		return
	}
	switch {
	case p.offline[a.target]:
		a.operation.attempting = true
		w.Later(p.options.connections, p.key("timeout", a), func(w virtualapi.World) {
			p.attemptFails(w, a, "dial tcp: i/o timeout")
		})
	case a.seen.applied == a.operation.revision || !p.started:
		w.Later(p.options.idleSync, p.key("end", a), func(w virtualapi.World) {
			p.end(w, a, "Succeeded", "successfully synced (no more tasks)")
		})
	default:
		a.operation.attempting = true
		p.s.Deploy(a.set.number, a.target, a.operation.revision)
	}
}

// attemptFails repeats an attempt as the operation's retry specifies.
func (p *product) attemptFails(w virtualapi.World, a *application, message string) {
	object := p.object(w, a)
	if object == nil || !a.operation.running || !a.operation.attempting {
		return
	}
	a.operation.attempting = false
	p.done(w, a)
	var strategy argo.RetryStrategy
	convert(child(child(object, "operation"), "retry"), &strategy)
	if strategy.Limit >= 0 && a.operation.retries >= strategy.Limit {
		p.end(w, a, "Failed", message)
		return
	}
	// Argo CD counts the failed attempt before it computes the wait.
	a.operation.retries++
	at, err := strategy.NextRetryAt(time.Now(), a.operation.retries)
	if err != nil {
		p.end(w, a, "Failed", message)
		return
	}
	w.Later(time.Until(at), p.key("retry", a), func(w virtualapi.World) {
		// processAppRefreshQueueItem compares, and queues the operation after that.
		p.compare(w, a, nil)
		p.afterComparison(w, a, func(w virtualapi.World) {
			p.process(w, a, func(w virtualapi.World) { p.attempt(w, a) })
		})
	})
}

// end ends an operation and starts a comparison.
func (p *product) end(w virtualapi.World, a *application, phase, message string) {
	if !a.operation.running {
		return
	}
	a.attempted = a.operation.revision
	a.operation = operation{}
	p.done(w, a)
	p.compare(w, a, func(o virtualapi.Object) {
		delete(o, "operation")
		state := child(child(o, "status"), "operationState")
		state["phase"], state["message"], state["finishedAt"] = phase, message, now()
	})
}

// finalize deletes the deployed resources from the cluster, and then the finalizer.
func (p *product) finalize(w virtualapi.World, a *application) {
	if a.seen.applied != 0 {
		a.cluster, a.seen = workload{}, workload{}
		p.s.Deploy(a.set.number, a.target, 0)
	}
	p.request(w, "finalizer", a, func(w virtualapi.World) {
		if p.object(w, a) == nil {
			return
		}
		must(w.Update(group, "applications", namespace, a.name, false, func(o virtualapi.Object) {
			var others []any
			given, _ := child(o, "metadata")["finalizers"].([]any)
			for _, name := range given {
				if name != finalizer {
					others = append(others, name)
				}
			}
			child(o, "metadata")["finalizers"] = others
		}))
	})
}

// targetNews handles an event in a cluster, or to it.
func (p *product) targetNews(w virtualapi.World, a *application, news cosim.News) {
	if news.Offline != nil {
		p.offline[a.target] = *news.Offline
	}
	if news.Applied != nil && *news.Applied != a.cluster.applied {
		a.cluster = workload{applied: *news.Applied}
	}
	if news.Ready != nil {
		a.cluster.ready = *news.Ready
	}
	refusal := ""
	if news.Failing != nil {
		if a.operation.attempting && a.cluster.applied != a.operation.revision {
			refusal = *news.Failing
		} else {
			a.cluster.failing = *news.Failing
		}
	}
	if news.Labels != nil {
		p.s.Hello.Targets[a.target].Labels = *news.Labels
	}
	if news.Selected != nil && *news.Selected != a.selected && *p.s.Hello.Targets[a.target].Registered {
		a.selected = *news.Selected
		if a.selected {
			p.register(w, a.target)
		} else {
			must(w.Delete("", "secrets", namespace, p.secret(a.target)))
		}
	} else if news.Labels != nil && a.selected {
		must(w.Update("", "secrets", namespace, p.secret(a.target), false, func(o virtualapi.Object) {
			child(o, "metadata")["labels"] = p.secretLabels(a.target)
		}))
	}
	if !p.offline[a.target] {
		// The end of an outage shows what happened to the Applications of all sets.
		for _, set := range p.sets {
			other := set.applications[a.target]
			if (other == a || news.Offline != nil) && other.seen != other.cluster {
				other.seen = other.cluster
				p.learn(w, other)
			}
		}
	}
	if refusal != "" && !p.offline[a.target] {
		p.attemptFails(w, a, refusal)
	}
}

// learn handles news of the controller's cluster, as the application controller does.
func (p *product) learn(w virtualapi.World, a *application) {
	switch {
	case a.operation.attempting && a.seen.applied == a.operation.revision:
		p.end(w, a, "Succeeded", "successfully synced (all tasks run)")
	default:
		p.compare(w, a, nil)
	}
}

// wanted returns the revision of an Application's spec.
func wanted(object virtualapi.Object) int {
	var revision int
	named, _ := child(child(object, "spec"), "source")["targetRevision"].(string)
	fmt.Sscanf(named, targetRevision(0)[:1]+"%d", &revision)
	return revision
}

func automated(object virtualapi.Object) bool {
	automated, ok := child(child(object, "spec"), "syncPolicy")["automated"].(virtualapi.Object)
	return ok && automated["enabled"] != false
}

// retry returns the retry strategy of an operation that starts by itself.
func retry(object virtualapi.Object) argo.RetryStrategy {
	strategy := argo.RetryStrategy{Limit: 5}
	if given, ok := child(child(object, "spec"), "syncPolicy")["retry"]; ok {
		strategy = argo.RetryStrategy{}
		convert(given, &strategy)
	}
	return strategy
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// child returns a field that is an object, or an empty one.
func child(object virtualapi.Object, field string) virtualapi.Object {
	if inner, ok := object[field].(virtualapi.Object); ok {
		return inner
	}
	return virtualapi.Object{}
}

func convert(from, into any) {
	raw, err := json.Marshal(from)
	must(err)
	must(json.Unmarshal(raw, into))
}
