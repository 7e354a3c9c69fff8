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

// product is Fleet with the bundles and clusters of a run.
type product struct {
	session *cosim.Session
	api     *virtualapi.Server
	passes  *passes
	groups  []*fleet.ClusterGroup

	bundles  []*bundle // by application
	clusters []*cluster
	places   map[string]int // namespace of a cluster -> target
	// revisions maps manifest ids to revisions of the content. Contents of two bundles differ.
	revisions map[string]int
	started   bool
}

// bundle is the bundle of one application.
type bundle struct {
	product     *product
	number      int
	application cosim.Application
	object      *fleet.Bundle     // as its owner wrote it, without a revision
	wanted      string            // id of the manifest that is to be rolled out
	seen        map[string]string // reported conditions
	completed   int               // the last revision reported complete
}

// Start lets the controllers install the revisions that the targets run, and then starts the run.
func (p *product) Start(s *cosim.Session) (cosim.Ready, error) {
	p.session = s
	p.places, p.revisions = map[string]int{}, map[string]int{}
	if err := p.read(); err != nil {
		return cosim.Ready{}, err
	}
	p.api = virtualapi.New(virtualapi.Options{Latency: s.APILatency(), Resources: resources()})
	s.API = p.api
	if err := p.addClusters(); err != nil {
		return cosim.Ready{}, err
	}
	p.api.Observe(p.observe)
	p.passes = &passes{}
	if err := p.startControllers(); err != nil {
		return cosim.Ready{}, err
	}
	// Informers deliver the objects of their first list in any order, so clusters are added after they have started.
	p.settle()
	p.api.Later(0, "clusters", func(w virtualapi.World) {
		for i, target := range s.Hello.Targets {
			if *target.Registered {
				p.register(w, i)
			}
		}
		for _, clusters := range p.groups {
			must(w.Create(group, "clustergroups", clusters))
		}
	})
	p.settle()
	if err := p.install(); err != nil {
		return cosim.Ready{}, err
	}
	p.strangers()
	for i, target := range s.Hello.Targets {
		p.clusters[i].offline = target.Offline
	}
	p.started = true
	for _, b := range p.bundles {
		release := b.application.Release
		p.api.Later(release.At, "release", func(w virtualapi.World) { b.publish(w, release.Revision) })
	}
	return cosim.Ready{Name: "rancher-fleet", Version: version, Lookahead: *s.Hello.Latency.Request}, nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// read reads the applications' files, and the groups of the experiment.
func (p *product) read() error {
	for i, application := range p.session.Applications {
		clusters, err := clustersOf(application, p.session.Hello.Targets)
		if err != nil {
			return err
		}
		in, err := read(application.Files, application.Name, clusters)
		if err != nil {
			return err
		}
		p.groups = append(p.groups, in.groups...)
		p.bundles = append(p.bundles, &bundle{
			product: p, number: i, application: application, object: in.bundle, seen: map[string]string{},
		})
	}
	for _, given := range p.session.Hello.ClusterGroups {
		clusters := &fleet.ClusterGroup{ObjectMeta: metav1.ObjectMeta{
			Name: given.Name, Namespace: workspace, Labels: given.Labels,
		}}
		if given.Selector != nil {
			clusters.Spec.Selector = &metav1.LabelSelector{}
			if err := json.Unmarshal(given.Selector, clusters.Spec.Selector); err != nil {
				return fmt.Errorf("clusterGroups: %s: %w", given.Name, err)
			}
		}
		p.groups = append(p.groups, clusters)
	}
	return nil
}

// settle lets time pass until the controllers have been idle for a while.
func (p *product) settle() {
	for before := -1; before != p.passes.total()+p.api.Total(); {
		before = p.passes.total() + p.api.Total()
		time.Sleep(max(time.Minute, 20**p.session.Hello.Latency.Request))
	}
}

// installed returns the revision of an application that a target runs at time 0.
func (b *bundle) installed(target cosim.Target) int {
	if b.product.session.Several() {
		return b.application.Release.Installed
	}
	return *target.Revision
}

// install rolls out the revisions that the targets run at time 0.
func (p *product) install() error {
	targets := p.session.Hello.Targets
	newest := 0
	for _, b := range p.bundles {
		for _, target := range targets {
			newest = max(newest, b.installed(target))
		}
	}
	for revision := 1; revision <= newest; revision++ {
		wrote := false
		for _, b := range p.bundles {
			wrote = b.install(revision) || wrote
		}
		if wrote {
			p.settle()
		}
	}
	for _, b := range p.bundles {
		for _, cluster := range b.application.Clusters {
			target, a := targets[cluster], p.clusters[cluster].agents[b.number]
			if *target.Registered && a.revision() != b.installed(target) {
				return fmt.Errorf("%s runs revision %d of %s after the warm-up and not %d: the bundle's targets must select it",
					target.Name, a.revision(), b.object.Name, b.installed(target))
			}
		}
	}
	return nil
}

// install gives a revision to the targets that run it at time 0, if there are any: all immediately, whatever the
// strategy. Partitions that name them keep the others unchanged.
func (b *bundle) install(revision int) bool {
	targets := b.product.session.Hello.Targets
	everything, all := len(targets), intOrString(0)
	strategy := &fleet.RolloutStrategy{MaxNew: &everything, AutoPartitionSize: &all}
	named, mixed := 0, false
	for _, target := range targets {
		mixed = mixed || b.installed(target) != b.installed(targets[0])
	}
	for _, target := range targets {
		if b.installed(target) == revision && *target.Registered {
			named++
			if mixed {
				strategy.Partitions = append(strategy.Partitions, fleet.Partition{ClusterName: target.Name})
			}
		}
	}
	if named == 0 {
		return false
	}
	many := intOrString(len(targets))
	strategy.MaxUnavailablePartitions = &many
	b.product.api.Later(0, "install", func(w virtualapi.World) {
		object := b.object.DeepCopy()
		object.Spec.Paused, object.Spec.RolloutStrategy = false, strategy
		b.write(w, object, revision)
	})
	return true
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
func (b *bundle) publish(w virtualapi.World, revision int) {
	b.write(w, b.object.DeepCopy(), revision)
}

// write creates or changes the bundle.
func (b *bundle) write(w virtualapi.World, object *fleet.Bundle, revision int) {
	object.Spec.Resources = []fleet.BundleResource{{Name: "app.yaml", Content: fmt.Sprintf(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"template":{"spec":{"containers":`+
			`[{"name":"app","image":"app:%d"}]}}}}`, b.application.Name, revision)}}
	id, err := manifest.FromBundle(object).ID()
	must(err)
	b.product.revisions[id], b.wanted = revision, id
	b.completed = 0
	if w.Get(group, "bundles", workspace, object.Name) == nil {
		must(w.Create(group, "bundles", object))
		return
	}
	must(w.Update(group, "bundles", workspace, object.Name, false, func(o virtualapi.Object) { o["spec"] = object.Spec }))
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
	b := p.bundles[0]
	if news.Application != nil {
		b = p.bundles[*news.Application]
	}
	switch {
	case news.Target != nil:
		a := p.clusters[*news.Target].agents[b.number]
		p.api.Later(delay, a.key, func(w virtualapi.World) { p.about(w, a, news) })
	case news.Release != nil:
		p.api.Later(delay, "release", func(w virtualapi.World) { b.publish(w, *news.Release) })
	case news.Stop != nil:
		// A person pauses the bundle; later releases keep the pause.
		p.api.Later(delay, "stop", func(w virtualapi.World) {
			b.object.Spec.Paused = *news.Stop
			must(w.Update(group, "bundles", workspace, b.object.Name, false, func(o virtualapi.Object) {
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

// about handles news about a target: of one application, or of the cluster as a whole.
func (p *product) about(w virtualapi.World, a *agent, news cosim.News) {
	name := p.session.Hello.Targets[a.target].Name
	if news.Offline != nil {
		a.cluster.reach(w, !*news.Offline)
	}
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
