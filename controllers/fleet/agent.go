package main

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"fleetsim/controllers/cosim"
	"fleetsim/controllers/virtualapi"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1/summary"
	"github.com/rancher/wrangler/v3/pkg/condition"
)

// settling is how long the agent waits after an event of a deployed resource before it evaluates: it merges events. It
// is also how long the agent waits before it first watches a kind of resource.
const settling = 5 * time.Second

// agent is the work of a cluster's agent for one BundleDeployment, modelled after its source: how it sees the
// BundleDeployment, and what it reports. cluster.go adds what the BundleDeployments of a cluster share.
//
// It sees a BundleDeployment one watch delay after the write. It reads the content, and the values if there are any,
// with one request each; then the instruction has reached the cluster. The result of the apply is reported
// immediately, with the readiness at that time. Later changes of readiness are reported 5 s after the first unreported
// event. An apply is such an event in a cluster where the bundle has been deployed before. In a new cluster the watch
// starts 5 s after the apply and begins with the current state, so the first report of readiness comes 10 s after the
// apply at the earliest.
//
// If the spec of a BundleDeployment changes but its id does not, the agent evaluates immediately. A failed apply is
// reported and not repeated here: the caller says when it succeeds. An agent that was cut off sees and reports
// immediately when it is back; its clients' back-off is left out.
type agent struct {
	product *product
	bundle  *bundle
	cluster *cluster
	target  int
	key     string

	told    string // the deployment id of the cluster's last instruction
	sight   string // the last seen spec of the BundleDeployment
	applied string // the deployment id that is applied
	since   map[int]string
	ready   bool
	failing string
	missed  bool // the BundleDeployment changed while the agent was offline
	owes    bool // a report became due while the agent was offline
	timer   bool
	// Passes of the agent's two controllers, where several applications share them.
	deploys, checks pass
}

func (a *agent) namespace() string {
	return namespaceOf(a.product.session.Hello.Targets[a.target].Name)
}

func (a *agent) stored(w virtualapi.World) virtualapi.Object {
	return w.Get(group, "bundledeployments", a.namespace(), a.bundle.object.Name)
}

// revisionOf returns the revision of a deployment id, which begins with the content's id.
func (p *product) revisionOf(id string) int {
	content, _, _ := strings.Cut(id, ":")
	return p.revisions[content]
}

// revision returns the applied revision.
func (a *agent) revision() int { return a.product.revisionOf(a.applied) }

func field(object virtualapi.Object, path ...string) any {
	var value any = object
	for _, name := range path {
		parent, _ := value.(virtualapi.Object)
		value = parent[name]
	}
	return value
}

func textOf(object virtualapi.Object, path ...string) string {
	value, _ := field(object, path...).(string)
	return value
}

// sees handles each write of the BundleDeployment.
func (a *agent) sees(w virtualapi.World, change virtualapi.Change) {
	if change.Type != "DELETED" && change.Old != nil &&
		field(change.Old, "metadata", "generation") == field(change.Object, "metadata", "generation") {
		return
	}
	w.Later(*a.product.session.Hello.Latency.Watch, a.key, a.wake)
}

// held says whether the agent is kept from deploying and from checking resources.
func held(object virtualapi.Object) bool {
	for _, reason := range []string{"paused", "offSchedule", "waitingForValues"} {
		if is, _ := field(object, "spec", reason).(bool); is {
			return true
		}
	}
	return false
}

// look is one pass of the agent.
func (a *agent) look(w virtualapi.World) {
	if a.cluster.offline {
		a.missed = true
		a.cluster.deployer.ends(w, &a.deploys)
		return
	}
	object := a.stored(w)
	if object == nil {
		defer a.cluster.deployer.ends(w, &a.deploys)
		if a.told != "" {
			a.told, a.applied, a.ready, a.failing, a.sight = "", "", false, "", ""
			a.product.deploy(a, 0)
		}
		return
	}
	id := textOf(object, "spec", "deploymentID")
	if held(object) || id == "" {
		a.cluster.deployer.ends(w, &a.deploys)
		return
	}
	if id == a.told {
		if id == a.applied || a.failing != "" && a.cluster.isShared() {
			w.Later(*a.product.session.Hello.Latency.Request, a.key, a.report)
		} else {
			a.cluster.deployer.ends(w, &a.deploys)
		}
		return
	}
	a.told = id
	takes := a.cluster.contents.waits() + *a.product.session.Hello.Latency.Request
	if textOf(object, "spec", "valuesHash") != "" {
		takes += a.cluster.values.waits() + *a.product.session.Hello.Latency.Request
	}
	w.Later(takes, a.key, func(w virtualapi.World) {
		if a.told != id {
			return
		}
		revision := a.product.revisionOf(id)
		if a.since == nil {
			a.since = map[int]string{}
		}
		a.since[revision] = id
		if a.product.started {
			a.product.deploy(a, revision)
			return
		}
		// Before time 0 everything is ready immediately.
		w.Later(time.Second, a.key, func(w virtualapi.World) {
			yes := true
			a.news(w, cosim.News{Applied: &revision, Ready: &yes})
		})
	})
}

func (p *product) deploy(a *agent, revision int) {
	p.session.Deploy(a.bundle.number, a.target, revision)
}

// returns handles the end of an outage.
func (a *agent) returns(w virtualapi.World) {
	if a.missed {
		a.missed = false
		a.wake(w)
	}
	if a.owes {
		a.owes = false
		if a.cluster.isShared() {
			a.wake(w)
		} else {
			a.report(w)
		}
	}
}

// news handles news of the cluster: the effect is an agent's request that runs now.
func (a *agent) news(w virtualapi.World, news cosim.News) {
	changed, applied := false, false
	if news.Applied != nil {
		if id := a.since[*news.Applied]; id != "" && id != a.applied {
			a.cluster.watch(w, a)
			a.applied, a.ready, a.failing = id, false, ""
			changed, applied = true, true
		} else if a.deploys.running && id != "" && id == a.told {
			applied = true // the cluster runs it since before an apply that failed
		}
	}
	if news.Ready != nil && *news.Ready != a.ready && (news.Applied == nil || a.since[*news.Applied] == a.applied) {
		a.ready, changed = *news.Ready, true
	}
	if news.Failing != nil && *news.Failing != a.failing {
		a.failing, changed = *news.Failing, true
		// The apply of the last instruction has failed: that is its result.
		applied = applied || a.applied != a.told
	}
	if applied {
		a.report(w)
	}
	if changed {
		a.event(w)
	}
}

// event handles an event of a resource: the agent evaluates when the events have settled.
func (a *agent) event(w virtualapi.World) {
	if a.timer || time.Now().Before(a.cluster.watches) {
		return
	}
	a.timer = true
	w.Later(settling, a.key, func(w virtualapi.World) {
		a.timer = false
		if a.cluster.isShared() {
			a.cluster.drift.add(w, &a.checks)
		} else if object := a.stored(w); object != nil && !held(object) {
			a.report(w)
		}
	})
}

// report ends a pass: it writes the status if it has changed.
func (a *agent) report(w virtualapi.World) { a.send(w, a.cluster.deployer, &a.deploys) }

// send writes the status if it has changed, at the end of a controller's pass.
func (a *agent) send(w virtualapi.World, of *workers, pass *pass) {
	if a.cluster.offline {
		a.owes = true
		of.ends(w, pass)
		return
	}
	status := a.changed(w)
	if status == nil {
		of.ends(w, pass)
		return
	}
	wait := a.cluster.statuses.waits()
	if wait == 0 {
		a.write(w, status, of, pass)
		return
	}
	w.Later(wait, a.key, func(w virtualapi.World) { a.write(w, status, of, pass) })
}

// changed returns the status as the agent knows it, or nil if that is stored already.
func (a *agent) changed(w virtualapi.World) *fleet.BundleDeploymentStatus {
	object := a.stored(w)
	if object == nil || a.told == "" {
		return nil
	}
	var status fleet.BundleDeploymentStatus
	raw, err := json.Marshal(object["status"])
	must(err)
	if string(raw) != "null" {
		must(json.Unmarshal(raw, &status))
	}
	a.fill(&status, textOf(object, "spec", "deploymentID"))
	after, err := json.Marshal(status)
	must(err)
	var before fleet.BundleDeploymentStatus
	if string(raw) != "null" {
		must(json.Unmarshal(raw, &before))
	}
	if same, err := json.Marshal(before); err == nil && string(same) == string(after) {
		return nil
	}
	return &status
}

// write carries out the request that a pass ends with.
func (a *agent) write(w virtualapi.World, status *fleet.BundleDeploymentStatus, of *workers, pass *pass) {
	defer of.ends(w, pass)
	if a.cluster.offline {
		a.owes = true
		return
	}
	if a.stored(w) == nil {
		return
	}
	must(w.Update(group, "bundledeployments", a.namespace(), a.bundle.object.Name, true,
		func(o virtualapi.Object) { o["status"] = status }))
	if session := a.product.session; session.Hello.Seen {
		revision, ready := a.revision(), status.Ready && a.applied == a.told
		w.Later(*session.Hello.Latency.Watch, a.key, func(virtualapi.World) {
			session.Seen(a.bundle.number, a.target, revision, ready)
		})
	}
	if a.cluster.isShared() {
		w.Later(*a.product.session.Hello.Latency.Watch, a.key, a.wake)
	}
}

// fill fills a status with the agent's knowledge.
func (a *agent) fill(status *fleet.BundleDeploymentStatus, deployed string) {
	deploy := condition.Cond(fleet.BundleDeploymentConditionDeployed)
	if a.applied != a.told {
		if a.failing != "" {
			deploy.SetError(status, "", errors.New(a.failing))
		}
		return
	}
	name := a.bundle.object.Name
	status.AppliedDeploymentID, status.Release = a.applied, "default/"+name+":1"
	condition.Cond(fleet.BundleDeploymentConditionInstalled).SetError(status, "", nil)
	deploy.SetError(status, "", nil)
	if deployed != a.applied {
		return // a newer id is set: the agent checks resources after applying it
	}
	var generation int64
	status.SyncGeneration = &generation
	status.Ready, status.NonModified, status.NonReadyStatus = a.ready && a.failing == "", true, nil
	status.Resources = []fleet.BundleDeploymentResource{{
		Kind: "Deployment", APIVersion: "apps/v1", Namespace: "default", Name: name,
	}}
	status.ResourceCounts = fleet.ResourceCounts{DesiredReady: 1, Ready: 1}
	var unready error
	if !status.Ready {
		is := summary.Summary{State: "in-progress", Transitioning: true, Message: []string{"Available: 0/1"}}
		if a.failing != "" {
			is = summary.Summary{State: "error", Error: true, Message: []string{a.failing}}
		}
		status.ResourceCounts = fleet.ResourceCounts{DesiredReady: 1, NotReady: 1}
		status.NonReadyStatus = []fleet.NonReadyStatus{{
			Kind: "Deployment", APIVersion: "apps/v1", Namespace: "default", Name: name, Summary: is,
		}}
		unready = errors.New(status.NonReadyStatus[0].String())
	}
	condition.Cond(fleet.BundleDeploymentConditionReady).SetError(status, "", unready)
	condition.Cond(fleet.BundleDeploymentConditionMonitored).SetError(status, "", nil)
}
