package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/metrics"
	"github.com/argoproj/argo-cd/v3/applicationset/progressivesync"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	argo "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/db"
	argosettings "github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fleetsim/controllers/cosim"
	"fleetsim/controllers/virtualapi"
)

const (
	group     = "argoproj.io"
	namespace = "argocd"
)

// product is Argo CD with the ApplicationSets and clusters of a run.
type product struct {
	s       *cosim.Session
	api     *virtualapi.Server
	options options
	passes  *passes
	started bool // time 0 is past
	sets    []*set
	offline []bool // by target
	// comparers are status processors, syncers operation processors. All sets share them.
	comparers, syncers processors
	byName             map[string]int // of targets
}

// set is the ApplicationSet of one of the run's applications.
type set struct {
	product *product
	number  int
	given   cosim.Application
	object  *argo.ApplicationSet // as its owner wrote it
	// latest is the newest revision, completed the last one that was reported complete.
	latest, completed int
	held              bool           // by a person
	applications      []*application // by target
	known             bookkeeping
}

// options are the controllers' flags and variables that an experiment may set.
type options struct {
	limit       virtualapi.Limit // of the ApplicationSet controller's client
	updates     int
	connections time.Duration
	// templateLabels says that applications have only the labels of the template.
	templateLabels bool
	// Options of the application controller, which is a model.
	comparers, syncers   int
	comparison, idleSync time.Duration
	syncs                costs
}

// Setting names are the environment variables of Argo CD's controllers. A setting without its own variable, or with
// one that both controllers read, has the name of fleetsim's setting.
func (o *options) read(settings map[string]string, limit func(virtualapi.Limit) virtualapi.Limit) error {
	*o = options{updates: 1, connections: 30 * time.Second, idleSync: time.Second}
	qps, burst := 50.0, -1
	var clientQPS float64
	var clientBurst int
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		var err error
		switch value := settings[name]; name {
		case "ARGOCD_K8S_CLIENT_QPS":
			qps, err = strconv.ParseFloat(value, 64)
		case "ARGOCD_K8S_CLIENT_BURST":
			burst, err = strconv.Atoi(value)
		case "ARGOCD_APPLICATIONSET_CONTROLLER_CONCURRENT_APPLICATION_UPDATES":
			o.updates, err = strconv.Atoi(value)
		case "applicationSet.templateLabels":
			o.templateLabels, err = strconv.ParseBool(value)
		case "ARGOCD_K8S_TCP_TIMEOUT":
			o.connections, err = time.ParseDuration(value)
		case "ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS":
			o.comparers, err = strconv.Atoi(value)
		case "ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS":
			o.syncers, err = strconv.Atoi(value)
		case "applicationController.comparison":
			o.comparison, err = time.ParseDuration(value)
		case "applicationController.idleSync":
			o.idleSync, err = time.ParseDuration(value)
		case "applicationController.requestsPerSync":
			o.syncs.requests, err = strconv.Atoi(value)
		case "applicationController.syncsPerSecond":
			o.syncs.second, err = strconv.ParseFloat(value, 64)
		case "applicationController.clientQps":
			clientQPS, err = strconv.ParseFloat(value, 64)
		case "applicationController.clientBurst":
			clientBurst, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("this adapter knows no such setting")
		}
		if err != nil {
			return fmt.Errorf("settings: %s: %w", name, err)
		}
	}
	if burst < 0 {
		burst = int(2 * qps)
	}
	o.limit = limit(virtualapi.Limit{QPS: qps, Burst: burst, PerResource: true})
	if clientQPS > 0 {
		o.syncs.client = rate.NewLimiter(rate.Limit(clientQPS), clientBurst)
	}
	return nil
}

// Start builds the controller and runs it to the state before time 0: the installed revision is everywhere, and its
// rollout has completed.
func (p *product) Start(s *cosim.Session) (cosim.Ready, error) {
	p.s, p.byName, p.offline = s, map[string]int{}, make([]bool, len(s.Hello.Targets))
	if err := p.options.read(s.Hello.Settings, s.Limit); err != nil {
		return cosim.Ready{}, err
	}
	p.comparers.limit, p.syncers.limit = p.options.comparers, p.options.syncers
	for i, target := range s.Hello.Targets {
		if revision := *target.Revision; !s.Several() && revision != 0 && revision != s.Hello.Release.Installed {
			return cosim.Ready{}, fmt.Errorf("the targets of one ApplicationSet run one revision: %s runs %d and not 0 or %d",
				target.Name, revision, s.Hello.Release.Installed)
		}
		p.byName[target.Name] = i
	}
	for i, given := range s.Applications {
		set := &set{product: p, number: i, given: given, latest: given.Release.Installed}
		for target := range s.Hello.Targets {
			number := i*len(s.Hello.Targets) + target
			set.applications = append(set.applications, &application{set: set, target: target, number: number, selected: true})
		}
		if err := set.readFiles(); err != nil {
			return cosim.Ready{}, err
		}
		p.sets = append(p.sets, set)
	}
	p.api = virtualapi.New(virtualapi.Options{Latency: s.APILatency(), Resources: resources()})
	s.API = p.api
	p.api.Observe(p.observe)
	p.api.Do(p.before)
	if err := p.startController(); err != nil {
		return cosim.Ready{}, err
	}
	if s.Several() {
		p.createSets()
	}
	if err := p.warmUp(); err != nil {
		return cosim.Ready{}, err
	}
	p.started = true
	p.begins()
	return cosim.Ready{Name: "argocd", Version: version, Lookahead: *s.Hello.Latency.Request}, nil
}

// warmUp ends at a whole second, because Argo CD compares times in whole seconds.
func (p *product) warmUp() error {
	for range 60 {
		time.Sleep(time.Minute)
		settled := true
		p.api.Do(func(w virtualapi.World) {
			for _, set := range p.sets {
				settled = settled && set.settled(w)
			}
		})
		if settled {
			for i, target := range p.s.Hello.Targets {
				p.offline[i] = target.Offline
			}
			time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
			return nil
		}
	}
	for _, set := range p.sets {
		if hold := p.Hold(set.number); hold.Explanation != "" {
			return fmt.Errorf("%s does not come to rest before time 0: %s", set.object.Name, hold.Explanation)
		}
	}
	return fmt.Errorf("the sets do not come to rest before time 0")
}

func resources() []virtualapi.Resource {
	core := func(kind, plural string) virtualapi.Resource {
		return virtualapi.Resource{Version: "v1", Kind: kind, Plural: plural, Namespaced: true, Builtin: true}
	}
	own := func(kind, plural string, status bool) virtualapi.Resource {
		return virtualapi.Resource{Group: group, Version: "v1alpha1", Kind: kind, Plural: plural, Namespaced: true, Status: status}
	}
	return []virtualapi.Resource{
		core("Secret", "secrets"), core("ConfigMap", "configmaps"), core("Event", "events"),
		// As in the CRDs, an Application's status is not a subresource.
		own("ApplicationSet", "applicationsets", true), own("Application", "applications", false),
		own("AppProject", "appprojects", false),
	}
}

// startController starts Argo CD's ApplicationSet controller as its command does by default, with progressive syncs.
func (p *product) startController() error {
	logrus.SetLevel(logrus.PanicLevel)
	logrus.SetOutput(io.Discard)
	klog.SetLogger(logr.Discard())
	p.passes = &passes{}
	config := &rest.Config{
		Host: "http://kubernetes", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		Transport: p.api.Client("applicationset-controller", p.options.limit),
	}
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	must(argo.AddToScheme(scheme))
	// Argo CD uses 10 h. Each cache draws a jitter for it when it starts, in random order.
	resync := 10000 * time.Hour
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.New(sink{passes: p.passes}),
		Cache: cache.Options{SyncPeriod: &resync, DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	settings := argosettings.NewSettingsManager(ctx, client, namespace)
	clusters, err := argosettings.NewClusterInformer(client, namespace)
	if err != nil {
		return err
	}
	go clusters.Run(make(chan struct{}))
	if !clientcache.WaitForCacheSync(make(chan struct{}), clusters.HasSynced) {
		return fmt.Errorf("the clusters are not to be had")
	}
	if p.s.Several() {
		// The first use waits for these caches under a lock, which passes of several sets would want at the same time.
		if _, err := settings.GetClusterInformer(); err != nil {
			return err
		}
	}
	observed := metrics.NewApplicationsetMetrics(utils.NewAppsetLister(manager.GetClient()), nil,
		func(*argo.ApplicationSet) bool { return true })
	cached := utils.NewCacheSyncingClient(manager.GetClient(), manager.GetCache())
	reconciler := &controllers.ApplicationSetReconciler{
		Generators: map[string]generators.Generator{
			"List":     generators.NewListGenerator(),
			"Clusters": generators.NewClusterGenerator(manager.GetClient(), namespace),
		},
		Client: cached, Scheme: manager.GetScheme(), Recorder: &record.FakeRecorder{},
		Renderer: newRenderer(), Policy: argo.ApplicationsSyncPolicySync, EnablePolicyOverride: true,
		KubeClientset: client, ArgoDB: db.NewDB(namespace, settings, client), ArgoCDNamespace: namespace,
		ApplicationSetNamespaces: []string{namespace}, EnableProgressiveSyncs: true, Metrics: &observed,
		MaxResourcesStatusCount: 5000, ClusterInformer: clusters, ConcurrentApplicationUpdates: p.options.updates,
	}
	reconciler.ProgressiveSyncManager = progressivesync.NewManager(cached, manager.GetAPIReader(), reconciler)
	if err := reconciler.SetupWithManager(manager, true, 10); err != nil {
		return err
	}
	go func() { must(manager.Start(ctx)) }()
	return nil
}

// News handles an event of the world.
func (p *product) News(news cosim.News, delay time.Duration) error {
	set := p.sets[0]
	if news.Application != nil {
		set = p.sets[*news.Application]
	}
	switch {
	case news.Target != nil:
		a := set.applications[*news.Target]
		p.api.Later(delay, p.key("news", a), func(w virtualapi.World) { p.targetNews(w, a, news) })
	case news.Release != nil:
		p.api.Later(delay, "release", func(w virtualapi.World) { set.release(w, *news.Release) })
	case news.Stop != nil:
		p.api.Later(delay, "stop", func(w virtualapi.World) { set.stop(w, *news.Stop) })
	}
	// Argo CD has no approvals.
	return nil
}

// Passes counts reconciliations.
func (p *product) Passes() map[string]int { return map[string]int{"applicationset": p.passes.count()} }

// Loop is the only controller.
func (p *product) Loop() string { return "applicationset" }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
