// Command fleet runs Rancher Fleet's own controllers in virtual time and speaks the protocol of ../PROTOCOL.md.
//
// It starts the BundleReconciler, the BundleDeploymentReconciler and the ClusterReconciler of the pinned module, with
// the product's SetupWithManager, indexers and numbers of workers, on an API server in memory. The caller simulates
// the clusters; agent.go models the part of their agents that writes to the API.
//
// Left out: GitRepos and their jobs (a release changes the Bundle immediately), the ClusterGroup and Content
// controllers (they report and clean up, and decide nothing about a rollout), schedules, imports of clusters, shards,
// and the resync of the caches every ten hours.
package main

import (
	"encoding/json"
	"fmt"
	"time"

	"fleetsim/controllers/cosim"
	"fleetsim/controllers/types"
	"fleetsim/controllers/virtualapi"

	"github.com/rancher/fleet/internal/manifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	group     = "fleet.cattle.io"
	version   = "v0.16.0 (c1a4325)"
	workspace = "fleet-default"
)

// kinds lists the files and objects that Fleet reads.
var kinds = []types.Kind{
	{Name: "FleetYAML", Type: fleet.FleetYAML{}},
	{Name: "Bundle", Type: fleet.Bundle{}},
	{Name: "HelmOp", Type: fleet.HelmOp{}},
	{Name: "GitRepo", Type: fleet.GitRepo{}},
	{Name: "Cluster", Type: fleet.Cluster{}},
	{Name: "ClusterGroup", Type: fleet.ClusterGroup{}},
}

func main() {
	if !types.Main(kinds) {
		cosim.Main(func() cosim.Product { return &product{} })
	}
}

// product is one bundle with its clusters.
type product struct {
	session *cosim.Session
	api     *virtualapi.Server
	passes  *passes
	input   input

	agents []*agent
	places map[string]int // namespace of a cluster -> target
	// revisions maps manifest ids to revisions of the content.
	revisions map[string]int
	wanted    string // id of the manifest that is to be rolled out
	started   bool
	seen      map[string]string // reported conditions
	completed int               // the last revision reported complete
}

// Start lets the controllers install the revisions that the targets run, and then starts the run.
func (p *product) Start(s *cosim.Session) (cosim.Ready, error) {
	p.session = s
	p.places, p.revisions, p.seen = map[string]int{}, map[string]int{}, map[string]string{}
	var err error
	if p.input, err = read(s.Hello.Files, s.Hello.Release.Name); err != nil {
		return cosim.Ready{}, err
	}
	p.api = virtualapi.New(virtualapi.Options{Latency: s.APILatency(), Resources: resources()})
	s.API = p.api
	for i, target := range s.Hello.Targets {
		p.agents = append(p.agents, &agent{product: p, target: i, key: fmt.Sprintf("agent %06d", i)})
		p.places[namespaceOf(target.Name)] = i
	}
	p.api.Observe(p.observe)
	p.passes = &passes{}
	if err := p.startControllers(); err != nil {
		return cosim.Ready{}, err
	}
	// Informers deliver the objects of their first list in any order, so clusters are added after they have started.
	p.settle()
	groups, err := p.groups()
	if err != nil {
		return cosim.Ready{}, err
	}
	p.api.Later(0, "clusters", func(w virtualapi.World) {
		for i, target := range s.Hello.Targets {
			if *target.Registered {
				p.register(w, i)
			}
		}
		for _, clusters := range groups {
			must(w.Create(group, "clustergroups", clusters))
		}
	})
	p.settle()
	if err := p.install(); err != nil {
		return cosim.Ready{}, err
	}
	p.strangers()
	for i, target := range s.Hello.Targets {
		p.agents[i].offline = target.Offline
	}
	p.started = true
	p.api.Later(0, "release", func(w virtualapi.World) { p.publish(w, s.Hello.Release.Revision) })
	return cosim.Ready{Name: "rancher-fleet", Version: version, Lookahead: *s.Hello.Latency.Request}, nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// groups returns the groups of the files and of the experiment.
func (p *product) groups() ([]*fleet.ClusterGroup, error) {
	groups := p.input.groups
	for _, given := range p.session.Hello.ClusterGroups {
		clusters := &fleet.ClusterGroup{ObjectMeta: metav1.ObjectMeta{
			Name: given.Name, Namespace: workspace, Labels: given.Labels,
		}}
		if given.Selector != nil {
			clusters.Spec.Selector = &metav1.LabelSelector{}
			if err := json.Unmarshal(given.Selector, clusters.Spec.Selector); err != nil {
				return nil, fmt.Errorf("clusterGroups: %s: %w", given.Name, err)
			}
		}
		groups = append(groups, clusters)
	}
	return groups, nil
}

// settle lets time pass until the controllers have been idle for a while.
func (p *product) settle() {
	for before := -1; before != p.passes.total()+p.api.Total(); {
		before = p.passes.total() + p.api.Total()
		time.Sleep(max(time.Minute, 20**p.session.Hello.Latency.Request))
	}
}

// install rolls out the revisions that the targets run at time 0. All targets of a revision get it immediately,
// whatever the strategy: partitions that name them keep the others unchanged.
func (p *product) install() error {
	targets := p.session.Hello.Targets
	newest, mixed := 0, false
	for _, target := range targets {
		mixed = mixed || *target.Revision != *targets[0].Revision
		newest = max(newest, *target.Revision)
	}
	for revision := 1; revision <= newest; revision++ {
		// Only the targets of this revision get it.
		everything, all := len(targets), intOrString(0)
		strategy := &fleet.RolloutStrategy{MaxNew: &everything, AutoPartitionSize: &all}
		named := 0
		for _, target := range targets {
			if *target.Revision == revision && *target.Registered {
				named++
				if mixed {
					strategy.Partitions = append(strategy.Partitions, fleet.Partition{ClusterName: target.Name})
				}
			}
		}
		if named == 0 {
			continue
		}
		many := intOrString(len(targets))
		strategy.MaxUnavailablePartitions = &many
		p.api.Later(0, "install", func(w virtualapi.World) {
			bundle := p.input.bundle.DeepCopy()
			bundle.Spec.Paused, bundle.Spec.RolloutStrategy = false, strategy
			p.write(w, bundle, revision)
		})
		p.settle()
	}
	for i, target := range targets {
		if a := p.agents[i]; *target.Registered && a.revision() != *target.Revision {
			return fmt.Errorf("%s runs revision %d after the warm-up and not %d: the bundle's targets must select it",
				target.Name, a.revision(), *target.Revision)
		}
	}
	return nil
}

// strangers adds clusters that people have paused and clusters whose agents never registered. They do not take part in
// the installation on the other clusters.
func (p *product) strangers() {
	p.api.Later(0, "strangers", func(w virtualapi.World) {
		for i, target := range p.session.Hello.Targets {
			switch {
			case !*target.Registered:
				p.register(w, i)
			case target.Paused:
				must(w.Update(group, "clusters", workspace, target.Name, false, func(o virtualapi.Object) {
					o["spec"] = fleet.ClusterSpec{Paused: true}
				}))
			}
		}
	})
	// The controllers never settle: Fleet looks for the namespace of an unregistered cluster again and again.
	time.Sleep(max(time.Minute, 20**p.session.Hello.Latency.Request))
}

// publish makes a revision the bundle's content.
func (p *product) publish(w virtualapi.World, revision int) {
	p.write(w, p.input.bundle.DeepCopy(), revision)
}

// write creates or changes the bundle.
func (p *product) write(w virtualapi.World, bundle *fleet.Bundle, revision int) {
	bundle.Spec.Resources = []fleet.BundleResource{{Name: "app.yaml", Content: fmt.Sprintf(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"template":{"spec":{"containers":`+
			`[{"name":"app","image":"app:%d"}]}}}}`, p.session.Hello.Release.Name, revision)}}
	id, err := manifest.FromBundle(bundle).ID()
	must(err)
	p.revisions[id], p.wanted = revision, id
	p.completed = 0
	if w.Get(group, "bundles", workspace, bundle.Name) == nil {
		must(w.Create(group, "bundles", bundle))
		return
	}
	must(w.Update(group, "bundles", workspace, bundle.Name, false, func(o virtualapi.Object) { o["spec"] = bundle.Spec }))
}

// namespaceOf returns the namespace of a cluster's BundleDeployments.
func namespaceOf(cluster string) string { return "cluster-" + workspace + "-" + cluster }

// register registers a target's cluster. If it has an agent, it gets a namespace, and the agent counts as seen.
func (p *product) register(w virtualapi.World, target int) {
	hello := p.session.Hello.Targets[target]
	name := hello.Name
	cluster := &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workspace, Labels: hello.Labels},
		Spec:       fleet.ClusterSpec{Paused: hello.Paused && p.started},
	}
	if !*hello.Registered {
		must(w.Create(group, "clusters", cluster))
		return
	}
	cluster.Status = fleet.ClusterStatus{
		Namespace: namespaceOf(name),
		Agent:     fleet.AgentStatus{LastSeen: metav1.NewTime(time.Now()), Namespace: "cattle-fleet-system"},
	}
	if w.Get("", "namespaces", "", namespaceOf(name)) == nil {
		must(w.Create("", "namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name:        namespaceOf(name),
			Annotations: map[string]string{fleet.ClusterNamespaceAnnotation: workspace, fleet.ClusterAnnotation: name},
		}}))
	}
	must(w.Create(group, "clusters", cluster))
}

// News handles an event of the world.
func (p *product) News(news cosim.News, delay time.Duration) error {
	switch {
	case news.Target != nil:
		a := p.agents[*news.Target]
		p.api.Later(delay, a.key, func(w virtualapi.World) { p.about(w, a, news) })
	case news.Release != nil:
		p.api.Later(delay, "release", func(w virtualapi.World) { p.publish(w, *news.Release) })
	case news.Stop != nil:
		// A person pauses the bundle; later releases keep the pause.
		p.api.Later(delay, "stop", func(w virtualapi.World) {
			p.input.bundle.Spec.Paused = *news.Stop
			must(w.Update(group, "bundles", workspace, p.input.bundle.Name, false, func(o virtualapi.Object) {
				spec := o["spec"].(virtualapi.Object)
				spec["paused"] = *news.Stop
				if !*news.Stop {
					delete(spec, "paused")
				}
			}))
		})
	}
	return nil
}

// about handles news about a target.
func (p *product) about(w virtualapi.World, a *agent, news cosim.News) {
	name := p.session.Hello.Targets[a.target].Name
	a.news(w, news)
	present := w.Get(group, "clusters", workspace, name) != nil
	if news.Labels != nil {
		p.session.Hello.Targets[a.target].Labels = *news.Labels
		if present {
			must(w.Update(group, "clusters", workspace, name, false, func(o virtualapi.Object) {
				o["metadata"].(virtualapi.Object)["labels"] = *news.Labels
			}))
		}
	}
	if news.Selected != nil && *news.Selected != present {
		// The cluster leaves the workspace or joins it.
		if present {
			must(w.Delete(group, "clusters", workspace, name))
		} else {
			p.register(w, a.target)
		}
	}
}

// Passes returns the passes of the controllers.
func (p *product) Passes() map[string]int { return p.passes.counts() }

// Loop is the controller that decides which clusters are next.
func (p *product) Loop() string { return "bundle" }
