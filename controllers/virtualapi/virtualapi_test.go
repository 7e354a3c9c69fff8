package virtualapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var (
	widgets = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "widgets"}
	secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	ctx     = context.Background()
)

// bubble runs a test in virtual time with a server and a client.
func bubble(t *testing.T, options Options, test func(*Server, dynamic.Interface)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		options.Resources = []Resource{
			{Group: "example.org", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true, Status: true,
				Selectable: []string{"spec.colour"}},
			{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true, Builtin: true},
		}
		if options.Latency.Request == 0 {
			options.Latency = Latency{Request: 5 * time.Millisecond, Watch: 7 * time.Millisecond}
		}
		s := New(options)
		defer s.Close()
		test(s, dynamic.NewForConfigOrDie(config(s, "test", Limit{})))
	})
}

func config(s *Server, name string, limit Limit) *rest.Config {
	return &rest.Config{Host: "http://virtual", Transport: s.Client(name, limit), QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func widget(name string, fields ...any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
	}}
	for i := 0; i < len(fields); i += 2 {
		path := strings.Split(fields[i].(string), ".")
		if err := unstructured.SetNestedField(object.Object, fields[i+1], path...); err != nil {
			panic(err)
		}
	}
	return object
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestGenerationsCountChangesOfTheSpecOnly(t *testing.T) {
	bubble(t, Options{}, func(_ *Server, client dynamic.Interface) {
		ok := must[*unstructured.Unstructured](t)
		in := client.Resource(widgets).Namespace("a")
		object := ok(in.Create(ctx, widget("x", "spec.size", int64(1), "status.phase", "dropped"), metav1.CreateOptions{}))
		if _, found := object.Object["status"]; found || object.GetGeneration() != 1 {
			t.Fatalf("created %v", object)
		}
		unstructured.SetNestedField(object.Object, "Ready", "status", "phase")
		unstructured.SetNestedField(object.Object, int64(9), "spec", "size")
		object = ok(in.UpdateStatus(ctx, object, metav1.UpdateOptions{}))
		size, _, _ := unstructured.NestedInt64(object.Object, "spec", "size")
		if size != 1 || object.GetGeneration() != 1 {
			t.Fatalf("a status update changed %v", object)
		}
		unstructured.SetNestedField(object.Object, "Gone", "status", "phase")
		unstructured.SetNestedField(object.Object, int64(2), "spec", "size")
		object = ok(in.Update(ctx, object, metav1.UpdateOptions{}))
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		if phase != "Ready" || object.GetGeneration() != 2 {
			t.Fatalf("an update made %v", object)
		}
		version := object.GetResourceVersion()
		object = ok(in.Update(ctx, object, metav1.UpdateOptions{}))
		if object.GetResourceVersion() != version {
			t.Fatal("an update without a change raised the resource version")
		}
		object.SetLabels(map[string]string{"a": "b"})
		object = ok(in.Update(ctx, object, metav1.UpdateOptions{}))
		if object.GetResourceVersion() == version || object.GetGeneration() != 2 {
			t.Fatalf("a change of labels made %v", object)
		}
	})
}

func TestConflictsAndMissingVersionsAreRefused(t *testing.T) {
	bubble(t, Options{}, func(_ *Server, client dynamic.Interface) {
		in := client.Resource(widgets).Namespace("a")
		first := must[*unstructured.Unstructured](t)(in.Create(ctx, widget("x"), metav1.CreateOptions{}))
		if _, err := in.Create(ctx, widget("x"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Fatalf("a second creation: %v", err)
		}
		second := first.DeepCopy()
		unstructured.SetNestedField(second.Object, "red", "spec", "colour")
		must[*unstructured.Unstructured](t)(in.Update(ctx, second, metav1.UpdateOptions{}))
		if _, err := in.Update(ctx, first, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Fatalf("an update of an old version: %v", err)
		}
		first.SetResourceVersion("")
		if _, err := in.Update(ctx, first, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Fatalf("an update without a version: %v", err)
		}
		if _, err := in.Get(ctx, "y", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("an unknown object: %v", err)
		}
		if _, err := client.Resource(widgets.GroupVersion().WithResource("gadgets")).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("an unknown resource: %v", err)
		}
	})
}

func TestFinalizersHoldObjectsAndOwnersTakeTheirsAlong(t *testing.T) {
	bubble(t, Options{}, func(s *Server, client dynamic.Interface) {
		ok := must[*unstructured.Unstructured](t)
		in := client.Resource(widgets).Namespace("a")
		owner := widget("owner")
		owner.SetFinalizers([]string{"example.org/wait"})
		owner = ok(in.Create(ctx, owner, metav1.CreateOptions{}))
		owned := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "owned"}}}
		owned.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Widget", Name: "owner", UID: owner.GetUID()}})
		ok(client.Resource(secrets).Namespace("a").Create(ctx, owned, metav1.CreateOptions{}))
		if err := in.Delete(ctx, "owner", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		owner = ok(in.Get(ctx, "owner", metav1.GetOptions{}))
		if owner.GetDeletionTimestamp() == nil || owner.GetGeneration() != 2 {
			t.Fatalf("a deleted object with a finalizer is %v", owner)
		}
		owner.SetFinalizers(nil)
		ok(in.Update(ctx, owner, metav1.UpdateOptions{}))
		time.Sleep(20 * time.Millisecond)
		if _, err := in.Get(ctx, "owner", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("the owner: %v", err)
		}
		if _, err := client.Resource(secrets).Namespace("a").Get(ctx, "owned", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("the owned: %v", err)
		}
	})
}

func TestPatches(t *testing.T) {
	bubble(t, Options{}, func(_ *Server, client dynamic.Interface) {
		ok := must[*unstructured.Unstructured](t)
		in := client.Resource(widgets).Namespace("a")
		ok(in.Create(ctx, widget("x", "spec.colour", "red", "spec.size", int64(1)), metav1.CreateOptions{}))
		object := ok(in.Patch(ctx, "x", types.MergePatchType, []byte(`{"spec":{"size":null,"colour":"blue"}}`), metav1.PatchOptions{}))
		spec, _, _ := unstructured.NestedMap(object.Object, "spec")
		if len(spec) != 1 || spec["colour"] != "blue" || object.GetGeneration() != 2 {
			t.Fatalf("a merge patch made %v", object)
		}
		object = ok(in.Patch(ctx, "x", types.JSONPatchType, []byte(`[{"op":"add","path":"/status","value":{"phase":"Ready"}}]`),
			metav1.PatchOptions{}, "status"))
		if phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); phase != "Ready" {
			t.Fatalf("a JSON patch of the status made %v", object)
		}
		_, err := in.Patch(ctx, "x", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"size":3}}`), metav1.PatchOptions{})
		if !apierrors.IsConflict(err) {
			t.Fatalf("a patch of an old version: %v", err)
		}
		_, err = in.Patch(ctx, "x", types.StrategicMergePatchType, []byte(`{"spec":{"list":[1]}}`), metav1.PatchOptions{})
		if !apierrors.IsUnsupportedMediaType(err) {
			t.Fatalf("a strategic merge patch of a list: %v", err)
		}
	})
}

func TestApplyMergesAndTakesBackWhatItsManagerDropped(t *testing.T) {
	bubble(t, Options{}, func(_ *Server, client dynamic.Interface) {
		ok := must[*unstructured.Unstructured](t)
		in := client.Resource(widgets).Namespace("a")
		ok(in.Apply(ctx, "x", widget("x", "spec.colour", "red", "spec.size", int64(1)), metav1.ApplyOptions{FieldManager: "one"}))
		if _, err := in.Apply(ctx, "x", widget("x", "spec.colour", "blue"), metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
			t.Fatalf("a field of another manager: %v", err)
		}
		ok(in.Apply(ctx, "x", widget("x", "spec.weight", int64(4)), metav1.ApplyOptions{FieldManager: "two"}))
		object := ok(in.Apply(ctx, "x", widget("x", "spec.size", int64(2)), metav1.ApplyOptions{FieldManager: "one"}))
		if spec := fmt.Sprint(object.Object["spec"]); spec != "map[size:2 weight:4]" {
			t.Fatalf("applied %s", spec)
		}
	})
}

func TestSelectors(t *testing.T) {
	bubble(t, Options{}, func(_ *Server, client dynamic.Interface) {
		for _, name := range []string{"x", "y", "z"} {
			object := widget(name, "spec.colour", "colour-of-"+name)
			object.SetLabels(map[string]string{"name": name})
			must[*unstructured.Unstructured](t)(client.Resource(widgets).Namespace("in-"+name).Create(ctx, object, metav1.CreateOptions{}))
		}
		names := func(options metav1.ListOptions) string {
			list := must[*unstructured.UnstructuredList](t)(client.Resource(widgets).List(ctx, options))
			var names []string
			for _, item := range list.Items {
				names = append(names, item.GetName())
			}
			return strings.Join(names, " ")
		}
		for options, want := range map[metav1.ListOptions]string{
			{}:                                 "x y z",
			{LabelSelector: "name in (x, z)"}:  "x z",
			{FieldSelector: "metadata.name=y"}: "y",
			{FieldSelector: "spec.colour!=colour-of-y"}: "x z",
		} {
			if got := names(options); got != want {
				t.Errorf("%v selects %q and not %q", options, got, want)
			}
		}
		if _, err := client.Resource(widgets).List(ctx, metav1.ListOptions{FieldSelector: "spec.size=1"}); !apierrors.IsBadRequest(err) {
			t.Fatalf("a field that cannot be selected: %v", err)
		}
	})
}

func TestObjectsLargerThanTheLimitAreRefused(t *testing.T) {
	bubble(t, Options{SizeLimit: 1000}, func(_ *Server, client dynamic.Interface) {
		in := client.Resource(widgets).Namespace("a")
		must[*unstructured.Unstructured](t)(in.Create(ctx, widget("x", "spec.data", strings.Repeat("x", 500)), metav1.CreateOptions{}))
		_, err := in.Create(ctx, widget("y", "spec.data", strings.Repeat("x", 1000)), metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), "etcdserver: request is too large") {
			t.Fatalf("a large object: %v", err)
		}
	})
}

func TestLatenciesAndLimits(t *testing.T) {
	bubble(t, Options{Latency: Latency{Request: 5 * time.Millisecond, Verbs: map[string]time.Duration{"create": 11 * time.Millisecond}}},
		func(s *Server, client dynamic.Interface) {
			start := time.Now()
			must[*unstructured.Unstructured](t)(client.Resource(widgets).Namespace("a").Create(ctx, widget("x"), metav1.CreateOptions{}))
			if took := time.Since(start); took != 11*time.Millisecond {
				t.Fatalf("a creation took %v", took)
			}
			limited := dynamic.NewForConfigOrDie(config(s, "limited", Limit{QPS: 10, Burst: 2}))
			start = time.Now()
			for range 4 {
				limited.Resource(widgets).Namespace("a").Get(ctx, "x", metav1.GetOptions{})
			}
			// Two tokens immediately, the third and fourth after 100 and 200 ms.
			if took := time.Since(start).Round(time.Millisecond); took != 205*time.Millisecond {
				t.Fatalf("four requests took %v", took)
			}
			if counts := s.Counts(); counts["get widgets"] != 4 || counts["create widgets"] != 1 || s.Total() != 5 {
				t.Fatalf("counted %v", counts)
			}
		})
}

func TestRequestsThatAreGivenUpWhileTheyWaitAreNotSentAndGiveTheirTokensBack(t *testing.T) {
	bubble(t, Options{}, func(s *Server, _ dynamic.Interface) {
		limited := dynamic.NewForConfigOrDie(config(s, "limited", Limit{QPS: 10, Burst: 1})).Resource(widgets).Namespace("a")
		create := func(within context.Context, name string) error {
			_, err := limited.Create(within, widget(name), metav1.CreateOptions{})
			return err
		}
		patient, stop := context.WithCancel(ctx)
		var given sync.WaitGroup
		for _, name := range []string{"x", "y", "z"} {
			given.Go(func() {
				if err := create(patient, name); (err == nil) != (name == "x") {
					t.Errorf("creating %s: %v", name, err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		stop()
		given.Wait()
		// The next token is available after 100 ms, and the request takes 5 ms.
		start := time.Now()
		if err := create(ctx, "w"); err != nil || time.Since(start).Round(time.Millisecond) != 55*time.Millisecond {
			t.Errorf("the next request took %v: %v", time.Since(start), err)
		}
		if counts := s.Counts(); counts["create widgets"] != 2 {
			t.Errorf("counted %v", counts)
		}
	})
}

func TestInformersSeeEveryChange(t *testing.T) {
	bubble(t, Options{}, func(s *Server, client dynamic.Interface) {
		stopping, stop := context.WithCancel(ctx)
		s.Do(func(w World) {
			w.Create("example.org", "widgets", Object{"metadata": Object{"name": "old", "namespace": "a"}})
		})
		// With a resync period of 0, a goroutine would wait on a channel from outside the bubble, which stops time.
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 10000*time.Hour)
		informer := factory.ForResource(widgets).Informer()
		start := time.Now()
		var seen []string
		note := func(what string) func(any) {
			return func(object any) {
				seen = append(seen, fmt.Sprint(what, " ", object.(*unstructured.Unstructured).GetName(), " ", time.Since(start).Round(time.Millisecond)))
			}
		}
		informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: note("add"), DeleteFunc: note("delete"),
			UpdateFunc: func(_, object any) { note("update")(object) },
		})
		factory.Start(stopping.Done())
		time.Sleep(time.Second)
		s.Later(0, "", func(w World) {
			w.Create("example.org", "widgets", Object{"metadata": Object{"name": "new", "namespace": "a"}})
		})
		time.Sleep(time.Second)
		s.Later(0, "", func(w World) {
			w.Update("example.org", "widgets", "a", "new", true, func(o Object) { o["status"] = Object{"phase": "Ready"} })
			w.Delete("example.org", "widgets", "a", "old")
		})
		time.Sleep(time.Second)
		stop()
		factory.Shutdown()
		got := strings.Join(seen[1:], ", ")
		if want := "add new 1.007s, update new 2.007s, delete old 2.007s"; got != want || !strings.HasPrefix(seen[0], "add old") {
			t.Fatalf("seen %v", seen)
		}
	})
}

func TestAWatchSendsInitialEventsAndABookmark(t *testing.T) {
	bubble(t, Options{}, func(s *Server, client dynamic.Interface) {
		in := client.Resource(widgets).Namespace("a")
		must[*unstructured.Unstructured](t)(in.Create(ctx, widget("x"), metav1.CreateOptions{}))
		yes := true
		watch, err := in.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		if err != nil {
			t.Fatal(err)
		}
		first, second := <-watch.ResultChan(), <-watch.ResultChan()
		annotations := second.Object.(*unstructured.Unstructured).GetAnnotations()
		if first.Type != "ADDED" || second.Type != "BOOKMARK" || annotations["k8s.io/initial-events-end"] != "true" {
			t.Fatalf("%v %v", first, second)
		}
		watch.Stop()
		time.Sleep(2 * time.Minute)
		for range 2 {
			time.Sleep(2 * time.Minute)
			must[*unstructured.Unstructured](t)(in.Patch(ctx, "x", types.MergePatchType,
				fmt.Appendf(nil, `{"spec":{"at":%d}}`, time.Now().Unix()), metav1.PatchOptions{}))
		}
		if watch, err = in.Watch(ctx, metav1.ListOptions{ResourceVersion: "1"}); err == nil {
			t.Fatal("a watch from a forgotten version started")
		} else if !apierrors.IsResourceExpired(err) {
			t.Fatal(err)
		}
	})
}

func TestOneInstantHasOneOrder(t *testing.T) {
	history := func() []string {
		var history []string
		bubble(t, Options{Latency: Latency{Request: time.Millisecond, Spread: 0.5, Seed: 3}}, func(s *Server, client dynamic.Interface) {
			s.Observe(func(_ World, change Change) {
				history = append(history, fmt.Sprint(text(metadata(change.Object), "name"), " ", time.Now().UnixNano()))
			})
			done := make(chan error)
			for i := range 50 {
				go func() {
					_, err := client.Resource(widgets).Namespace("a").Create(ctx, widget(fmt.Sprint("x", i)), metav1.CreateOptions{})
					done <- err
				}()
			}
			for range 50 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		})
		return history
	}
	first := history()
	for range 5 {
		if again := history(); !slices.Equal(first, again) {
			t.Fatalf("%v differs from %v", again, first)
		}
	}
}

func TestDiscoveryTakesNoTime(t *testing.T) {
	bubble(t, Options{}, func(s *Server, _ dynamic.Interface) {
		start := time.Now()
		client := discovery.NewDiscoveryClientForConfigOrDie(config(s, "discovery", Limit{}))
		_, lists, err := client.ServerGroupsAndResources()
		if err != nil || len(lists) != 2 || lists[1].GroupVersion != "example.org/v1" || len(lists[1].APIResources) != 2 {
			t.Fatalf("discovered %v, %v", lists, err)
		}
		if time.Since(start) != 0 || s.Total() != 0 {
			t.Fatal("discovery took time or was counted")
		}
	})
}

func TestRefusesProtobuf(t *testing.T) {
	bubble(t, Options{}, func(s *Server, _ dynamic.Interface) {
		request, _ := http.NewRequest("POST", "http://virtual/api/v1/namespaces/a/secrets", strings.NewReader("k8s"))
		request.Header.Set("Content-Type", "application/vnd.kubernetes.protobuf")
		response, err := s.Client("x", Limit{}).RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusUnsupportedMediaType {
			t.Fatalf("%v %v", response, err)
		}
	})
}
