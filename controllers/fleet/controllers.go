package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"fleetsim/controllers/virtualapi"

	"github.com/go-logr/logr"
	"github.com/rancher/fleet/internal/cmd/controller/reconciler"
	"github.com/rancher/fleet/internal/cmd/controller/target"
	"github.com/rancher/fleet/internal/config"
	"github.com/rancher/fleet/internal/manifest"
	"github.com/rancher/fleet/internal/metrics"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// resources lists the resources that the controllers read or write.
func resources() []virtualapi.Resource {
	own := func(kind, plural string, namespaced, status bool) virtualapi.Resource {
		return virtualapi.Resource{Group: group, Version: "v1alpha1", Kind: kind, Plural: plural, Namespaced: namespaced,
			Status: status}
	}
	return []virtualapi.Resource{
		own("Bundle", "bundles", true, true),
		own("BundleDeployment", "bundledeployments", true, true),
		own("Cluster", "clusters", true, true),
		own("ClusterGroup", "clustergroups", true, true),
		own("GitRepo", "gitrepos", true, true),
		own("HelmOp", "helmops", true, true),
		own("Content", "contents", false, false),
		own("BundleNamespaceMapping", "bundlenamespacemappings", true, false),
		own("GitRepoRestriction", "gitreporestrictions", true, false),
		own("Policy", "policies", true, false),
		{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true, Builtin: true},
		{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true, Builtin: true},
		{Version: "v1", Kind: "Namespace", Plural: "namespaces", Builtin: true},
		{Version: "v1", Kind: "Event", Plural: "events", Namespaced: true, Builtin: true},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event", Plural: "events", Namespaced: true, Builtin: true},
	}
}

// startControllers starts Fleet's own controllers as its operator does: without a request limit, and with the chart's
// numbers of workers.
func (p *product) startControllers() error {
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	must(fleet.AddToScheme(scheme))
	workers := map[string]int{}
	for _, name := range []string{"BUNDLE", "BUNDLEDEPLOYMENT", "CLUSTER"} {
		setting := name + "_RECONCILER_WORKERS"
		workers[name] = 50
		if given, ok := p.session.Hello.Settings[setting]; ok {
			number, err := strconv.Atoi(given)
			if err != nil || number < 1 {
				return fmt.Errorf("%s must be a number of at least 1; it is %q", setting, given)
			}
			workers[name] = number
		}
	}
	ctrl.SetLogger(logr.Discard())
	transport := p.api.Client("controller", p.session.Limit(virtualapi.Limit{}))
	resync := 10000 * time.Hour
	manager, err := ctrl.NewManager(&rest.Config{
		Host: "http://management", Transport: transport, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Cache: cache.Options{SyncPeriod: &resync},
		Logger: logr.New(sink{passes: p.passes}),
	})
	if err != nil {
		return err
	}
	// Each update of a metric scans the metrics of all objects. Metrics are not read here.
	metrics.BundleCollector, metrics.ClusterCollector = metrics.CollectorCollection{}, metrics.CollectorCollection{}
	metrics.BundleDeploymentCollector = metrics.CollectorCollection{}
	ctx := context.Background()
	own := reader{manager.GetClient(), transport}
	builder := target.New(own, manager.GetAPIReader())
	if err := (&reconciler.ClusterReconciler{
		Client: own, Scheme: scheme, Query: builder, Workers: workers["CLUSTER"],
	}).SetupWithManager(manager); err != nil {
		return err
	}
	if err := (&reconciler.BundleReconciler{
		Client: own, Scheme: scheme, Recorder: manager.GetEventRecorder("fleet-bundle-ctrl"),
		APIReader: manager.GetAPIReader(), Builder: builder, Store: manifest.NewStore(own), Query: builder,
		Workers: workers["BUNDLE"],
	}).SetupWithManager(manager); err != nil {
		return err
	}
	if err := (&reconciler.BundleDeploymentReconciler{
		Client: own, Scheme: scheme, Workers: workers["BUNDLEDEPLOYMENT"],
	}).SetupWithManager(manager); err != nil {
		return err
	}
	// The operator indexes bundles by the Secrets and ConfigMaps that they send downstream. Bundles here have neither,
	// and the operator's package depends on all of Helm and Git.
	if err := manager.GetFieldIndexer().IndexField(ctx, &fleet.Bundle{}, config.BundleDownstreamResourceIndex,
		func(client.Object) []string { return nil }); err != nil {
		return err
	}
	// Other controllers of Fleet watch these too. Without this, the first reader would start the watch in the middle
	// of a pass.
	go func() { must(manager.Start(ctx)) }()
	for _, object := range []client.Object{&fleet.ClusterGroup{}, &fleet.Content{}, &fleet.BundleNamespaceMapping{},
		&fleet.GitRepoRestriction{}, &fleet.Policy{}, &fleet.GitRepo{}, &fleet.HelmOp{}} {
		go manager.GetCache().GetInformer(ctx, object)
	}
	return nil
}

// reader is the manager's client with two changes. Its lists are sorted: lists from a cache come in map order, and the
// product deletes several objects in the order of its list. And two operations that the product performs for each
// target in each pass use less CPU time: deletes of a Secret go to the server without a REST client, and lists of all
// BundleDeployments are not copied, because the product only reads or copies them.
type reader struct {
	client.Client
	transport http.RoundTripper
}

func (r reader) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	secret, ok := object.(*corev1.Secret)
	if !ok || len(options) > 0 {
		return r.Client.Delete(ctx, object, options...)
	}
	path := "/api/v1/namespaces/" + secret.Namespace + "/secrets/" + secret.Name
	request := &http.Request{Method: http.MethodDelete, URL: &url.URL{Path: path}, Header: http.Header{}}
	response, err := r.transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return err
	}
	response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return apierrors.NewNotFound(corev1.Resource("secrets"), secret.Name)
	}
	return fmt.Errorf("delete of %s: %s", path, response.Status)
}

func (r reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*fleet.BundleDeploymentList); ok {
		var given client.ListOptions
		given.ApplyOptions(options)
		if given.Namespace == "" {
			options = append(options, client.UnsafeDisableDeepCopy)
		}
	}
	if err := r.Client.List(ctx, list, options...); err != nil {
		return err
	}
	switch list := list.(type) {
	case *fleet.BundleDeploymentList:
		sortItems(list.Items, func(o *fleet.BundleDeployment) client.Object { return o })
	case *fleet.ClusterList:
		sortItems(list.Items, func(o *fleet.Cluster) client.Object { return o })
	case *fleet.ClusterGroupList:
		sortItems(list.Items, func(o *fleet.ClusterGroup) client.Object { return o })
	case *fleet.BundleList:
		sortItems(list.Items, func(o *fleet.Bundle) client.Object { return o })
	}
	return nil
}

func sortItems[T any](items []T, object func(*T) client.Object) {
	keys := make([]string, len(items))
	order := make([]int, len(items))
	for i := range items {
		o := object(&items[i])
		keys[i], order[i] = o.GetNamespace()+"/"+o.GetName(), i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(keys[a], keys[b]) })
	old := slices.Clone(items)
	for i, from := range order {
		items[i] = old[from]
	}
}

// passes counts the passes of controllers, by name.
type passes struct {
	mu     sync.Mutex
	number map[string]int
	sum    int
}

func (p *passes) counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := make(map[string]int, len(p.number))
	for name, number := range p.number {
		counts[name] = number
	}
	return counts
}

func (p *passes) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum
}

// sink counts passes: controller-runtime logs each one at level 5, under the controller's name.
type sink struct {
	passes     *passes
	controller string
}

func (s sink) Init(logr.RuntimeInfo)        {}
func (s sink) Enabled(level int) bool       { return level == 5 }
func (s sink) Error(error, string, ...any)  {}
func (s sink) WithName(string) logr.LogSink { return s }

func (s sink) Info(_ int, message string, _ ...any) {
	if message != "Reconciling" {
		return
	}
	s.passes.mu.Lock()
	defer s.passes.mu.Unlock()
	if s.passes.number == nil {
		s.passes.number = map[string]int{}
	}
	s.passes.number[s.controller]++
	s.passes.sum++
}

func (s sink) WithValues(values ...any) logr.LogSink {
	for i := 0; i+1 < len(values); i += 2 {
		if values[i] == "controller" {
			s.controller, _ = values[i+1].(string)
		}
	}
	return s
}
