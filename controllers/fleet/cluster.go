package main

import (
	"fmt"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"fleetsim/controllers/virtualapi"
)

// cluster is a cluster with its agent: one process for the BundleDeployments of all applications.
//
// What they share is modelled after internal/cmd/agent of the pinned module, if the run has a list of applications:
//
//   - A controller deploys and a controller checks what is deployed. Each has its workers (50 in the chart), which take
//     BundleDeployments in the order of their arrival. One that arrives again waits until its pass has ended.
//   - A pass that deploys lasts from the read of the content to the end of the write of the status, with the apply in
//     between. A pass that checks, 5 s after an event, writes the status. It does nothing while the status does not yet
//     have the id that is wanted (ShouldUpdateStatus).
//   - Each write of a status wakes the controller that deploys one watch delay later, because the predicate compares
//     SyncGeneration by its pointer. That pass reads no content and writes what has changed since.
//   - The agent's kubeconfig sets no limit of requests, so client-go's default holds: 5 a second with a burst of 10 for
//     each client of a kind. Contents, values and statuses are such kinds. Both controllers share that of statuses. A
//     pass keeps its worker while it waits for a token.
//   - The agent watches a kind of resource from 5 s after the cluster's first apply on. All bundles here deploy one
//     kind, so a later bundle in the same cluster does not wait for that.
//
// Before time 0 there is no limit. An alone bundle meets none of these limits, and its pass may be overtaken by the next
// one: recordings of one bundle are like that.
type cluster struct {
	product *product
	agents  []*agent // by application
	offline bool
	watches time.Time // when the agent's watch of the resources begins

	deployer, drift            *workers
	contents, values, statuses *tokens
}

// addClusters makes the clusters with their agents.
func (p *product) addClusters() error {
	deployers, err := p.setting("agent.BUNDLEDEPLOYMENT_RECONCILER_WORKERS", 50)
	if err != nil {
		return err
	}
	checkers, err := p.setting("agent.DRIFT_RECONCILER_WORKERS", 50)
	if err != nil {
		return err
	}
	qps, err := p.setting("agent.clientQps", 5)
	if err != nil {
		return err
	}
	burst, err := p.setting("agent.clientBurst", 10)
	if err != nil {
		return err
	}
	for i, target := range p.session.Hello.Targets {
		c := &cluster{product: p}
		if p.session.Several() {
			c.deployer, c.drift = &workers{product: p, limit: deployers}, &workers{product: p, limit: checkers}
			if qps > 0 {
				c.contents, c.values, c.statuses = p.limit(qps, burst), p.limit(qps, burst), p.limit(qps, burst)
			}
		}
		for _, b := range p.bundles {
			key := fmt.Sprintf("agent %06d", i)
			if p.session.Several() {
				key += fmt.Sprintf(" %06d", b.number)
			}
			a := &agent{product: p, bundle: b, cluster: c, target: i, key: key}
			a.deploys.work, a.checks.work = a.look, a.check
			c.agents = append(c.agents, a)
		}
		p.clusters = append(p.clusters, c)
		p.places[namespaceOf(target.Name)] = i
	}
	return nil
}

// setting reads a setting that is a whole number.
func (p *product) setting(name string, otherwise int) (int, error) {
	given, ok := p.session.Hello.Settings[name]
	if !ok {
		return otherwise, nil
	}
	number, err := strconv.Atoi(given)
	if err != nil || number < 0 || number == 0 && name != "agent.clientQps" {
		return 0, fmt.Errorf("%s must be a number of at least 1; it is %q", name, given)
	}
	return number, nil
}

// isShared says whether the applications of a list share the agent.
func (c *cluster) isShared() bool { return c.deployer != nil }

// reach handles the begin or end of an outage.
func (c *cluster) reach(w virtualapi.World, online bool) {
	if c.offline != online {
		return
	}
	c.offline = !online
	if online {
		for _, a := range c.agents {
			a.returns(w)
		}
	}
}

// watch begins the watch of resources if this is the cluster's first apply.
func (c *cluster) watch(w virtualapi.World, first *agent) {
	for _, a := range c.agents {
		if a.applied != "" {
			return
		}
	}
	c.watches = time.Now().Add(settling)
	w.Later(settling, first.key, func(w virtualapi.World) {
		for _, a := range c.agents {
			if a.applied != "" || a == first {
				a.event(w)
			}
		}
	})
}

// wake lets the agent look at a BundleDeployment as soon as a worker is free.
func (a *agent) wake(w virtualapi.World) {
	if a.cluster.isShared() {
		a.cluster.deployer.add(w, &a.deploys)
	} else {
		a.look(w)
	}
}

// check is a pass of the controller that checks what is deployed.
func (a *agent) check(w virtualapi.World) {
	object := a.stored(w)
	wanted := textOf(object, "spec", "deploymentID")
	if object == nil || held(object) || textOf(object, "status", "appliedDeploymentID") != wanted {
		a.cluster.drift.ends(w, &a.checks)
		return
	}
	a.send(w, a.cluster.drift, &a.checks)
}

// pass is what a controller of an agent has to do for one BundleDeployment.
type pass struct {
	work                    func(virtualapi.World)
	waiting, running, again bool
}

// workers are those of one controller of an agent, with its queue.
type workers struct {
	product *product
	limit   int
	busy    int
	queue   []*pass
}

func (q *workers) add(w virtualapi.World, p *pass) {
	switch {
	case p.running:
		p.again = true
	case !p.waiting:
		p.waiting = true
		q.queue = append(q.queue, p)
		q.next(w)
	}
}

func (q *workers) next(w virtualapi.World) {
	for len(q.queue) > 0 && (q.busy < q.limit || !q.product.started) {
		p := q.queue[0]
		q.queue = q.queue[1:]
		p.waiting, p.running = false, true
		q.busy++
		p.work(w)
	}
}

// ends ends a pass. An agent that nobody shares has no workers.
func (q *workers) ends(w virtualapi.World, p *pass) {
	if q == nil || !p.running {
		return
	}
	p.running = false
	q.busy--
	if p.again {
		p.again = false
		q.add(w, p)
	}
	q.next(w)
}

// tokens are the limit of one of the agent's clients.
type tokens struct {
	product *product
	limiter *rate.Limiter
}

func (p *product) limit(qps, burst int) *tokens {
	return &tokens{product: p, limiter: rate.NewLimiter(rate.Limit(qps), burst)}
}

// waits takes a token and returns how long the request waits for it.
func (t *tokens) waits() time.Duration {
	if t == nil || !t.product.started {
		return 0
	}
	now := time.Now()
	return t.limiter.ReserveN(now, 1).DelayFrom(now)
}
