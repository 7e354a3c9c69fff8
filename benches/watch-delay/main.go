// Command watch-delay measures the time from the response to a write until a controller's cache shows the write.
//
//	go run . FOLDER
//
// It runs etcd with its data in FOLDER, the API server for custom resources, and a cache of all objects, in one
// process on one machine. Each of 1,000 namespaces has its own watch, like an agent's. Objects of 4 kB are created at
// 10, 100 and 300 a second, 1,000 at each rate. A negative time means that the cache shows a write before the response
// arrives.
//
// Left out: networks, several API servers, and other load. `controller.watchDelay` rests on this.
package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiserver "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	writes = 1000
	agents = 1000
	size   = 4000
)

var things = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}

// nowhere is the cluster that the API server would ask for a user's identity. The measurement is its own
// administrator.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {}}]
`

type logger struct{}

func (logger) Helper()                      {}
func (logger) Logf(string, ...any)          {}
func (logger) Errorf(text string, a ...any) { fmt.Fprintf(os.Stderr, text+"\n", a...) }
func (logger) Fatalf(text string, a ...any) {
	fmt.Fprintf(os.Stderr, text+"\n", a...)
	os.Exit(1)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: watch-delay FOLDER, for etcd's data")
		os.Exit(2)
	}
	folder := must(os.MkdirTemp(os.Args[1], "watch-delay"))
	defer os.RemoveAll(folder)
	config := serve(folder)
	ctx := context.Background()
	define(ctx, config)
	var mutex sync.Mutex
	seen := map[string]time.Time{}
	informers := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), time.Hour)
	must(informers.ForResource(things).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		mutex.Lock()
		defer mutex.Unlock()
		seen[object.(*unstructured.Unstructured).GetNamespace()] = time.Now()
	}}))
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	writer := dynamic.NewForConfigOrDie(config).Resource(things)
	for agent := range agents {
		events := must(dynamic.NewForConfigOrDie(rest.CopyConfig(config)).Resource(things).
			Namespace(namespace(agent)).Watch(ctx, meta.ListOptions{}))
		go func() {
			for range events.ResultChan() {
			}
		}()
	}
	for _, rate := range []int{10, 100, 300} {
		requests, delays := measure(ctx, writer, rate, func(at int) time.Time {
			mutex.Lock()
			defer mutex.Unlock()
			return seen[namespace(at)]
		})
		fmt.Printf("%d writes a second: answered after %s; in the cache after %s more\n", rate, words(requests), words(delays))
	}
}

func namespace(agent int) string { return fmt.Sprintf("cluster-%04d", agent) }

// serve starts etcd and the API server, and returns how to reach it.
func serve(folder string) *rest.Config {
	config := embed.NewConfig()
	config.Dir, config.LogLevel = filepath.Join(folder, "etcd"), "error"
	clients, peers := url.URL{Scheme: "http", Host: "127.0.0.1:23790"}, url.URL{Scheme: "http", Host: "127.0.0.1:23800"}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	<-must(embed.StartEtcd(config)).Server.ReadyNotify()
	file := filepath.Join(folder, "kubeconfig")
	must(0, os.WriteFile(file, []byte(nowhere), 0o600))
	server := must(apiserver.StartTestServer(logger{}, nil, []string{"--etcd-servers", clients.String(),
		"--authentication-skip-lookup", "--authentication-kubeconfig", file, "--authorization-kubeconfig", file,
		"--kubeconfig", file, "--disable-admission-plugins", "NamespaceLifecycle,MutatingAdmissionWebhook," +
			"ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy"}, nil))
	reached := rest.CopyConfig(server.ClientConfig)
	reached.QPS, reached.Burst = -1, -1
	return reached
}

// define adds the kind of object that is written.
func define(ctx context.Context, config *rest.Config) {
	anything := true
	definition := &extensions.CustomResourceDefinition{
		ObjectMeta: meta.ObjectMeta{Name: "things.example.com"},
		Spec: extensions.CustomResourceDefinitionSpec{
			Group: things.Group, Scope: extensions.NamespaceScoped,
			Names: extensions.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "Things"},
			Versions: []extensions.CustomResourceDefinitionVersion{{
				Name: things.Version, Served: true, Storage: true,
				Schema: &extensions.CustomResourceValidation{OpenAPIV3Schema: &extensions.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
	definitions := clientset.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	must(definitions.Create(ctx, definition, meta.CreateOptions{}))
	time.Sleep(5 * time.Second) // until it is served
}

// measure writes at a rate and returns the latency of each write and the delay until the cache shows it.
func measure(
	ctx context.Context, writer dynamic.NamespaceableResourceInterface, rate int, seen func(int) time.Time,
) (requests, delays []time.Duration) {
	requests, delays = make([]time.Duration, writes), make([]time.Duration, writes)
	answers := make([]time.Time, writes)
	begin := time.Now()
	var all sync.WaitGroup
	for at := range writes {
		time.Sleep(time.Until(begin.Add(time.Duration(at) * time.Second / time.Duration(rate))))
		all.Go(func() {
			thing := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Thing",
				"metadata": map[string]any{"name": fmt.Sprint("thing-", rate)}, "data": strings.Repeat("x", size),
			}}
			sent := time.Now()
			must(writer.Namespace(namespace(at)).Create(ctx, thing, meta.CreateOptions{}))
			answers[at] = time.Now()
			requests[at] = answers[at].Sub(sent)
		})
	}
	all.Wait()
	time.Sleep(2 * time.Second)
	for at := range writes {
		delays[at] = seen(at).Sub(answers[at])
	}
	return requests, delays
}

func words(times []time.Duration) string {
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))].Microseconds()) / 1000
	}
	return fmt.Sprintf("%.2f, %.2f and %.2f ms (p50, p90, p99)", at(0.5), at(0.9), at(0.99))
}
