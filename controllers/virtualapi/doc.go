// Package virtualapi is a Kubernetes API server in memory for controllers that run in virtual time.
//
// It is an [net/http.RoundTripper] for rest.Config.Transport, so clients, caches and managers of client-go and
// controller-runtime run on it unmodified. It works on JSON without Go types and therefore suits any version of these
// libraries. In a bubble of testing/synctest its latencies cost no real time:
//
//	synctest.Test(t, func(t *testing.T) {
//		api := virtualapi.New(virtualapi.Options{
//			Latency: virtualapi.Latency{Request: 5 * time.Millisecond, Watch: 5 * time.Millisecond},
//			Resources: []virtualapi.Resource{
//				{Group: "fleet.cattle.io", Version: "v1alpha1", Kind: "Bundle", Plural: "bundles",
//					Namespaced: true, Status: true},
//				{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true, Builtin: true},
//			},
//		})
//		defer api.Close()
//		config := &rest.Config{
//			Host:          "http://virtual",
//			Transport:     api.Client("controller", virtualapi.Limit{QPS: 50, Burst: 100}),
//			ContentConfig: rest.ContentConfig{ContentType: "application/json"},
//			QPS:           -1,
//		}
//		// Informers need a resync period other than 0: without one, client-go waits on a channel that was
//		// made outside of the bubble, and time stands still. A manager's default of 10 hours will do.
//		manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
//		...
//		api.Do(func(w virtualapi.World) { w.Create("fleet.cattle.io", "bundles", bundle) }) // the state at the start
//		api.Observe(func(w virtualapi.World, change virtualapi.Change) { ... })             // what controllers write
//		api.Later(time.Minute, "agent of a", func(w virtualapi.World) {                     // what the world writes
//			w.Update("fleet.cattle.io", "bundledeployments", "cluster-a", "app", true, func(object virtualapi.Object) { ... })
//		})
//	})
//
// # What it models
//
// Discovery; get, list, watch (with bookmarks, initial events and the past minute), create, update, patch (JSON, merge,
// apply; strategic merge where it equals merge), delete and deletecollection; status subresources; resource versions and
// conflicts; generations; finalizers; deletion in the background of what only deleted objects own; names from
// generateName; selectors by label and field; timestamps in whole seconds; the size limit of etcd.
//
// A request is executed and answered one latency after it was sent; an event reaches a watch one watch delay after its
// write. A request whose caller gives up while it waits for its client's limit is not sent; a request that was sent is
// executed. Discovery takes no time: clients call it while they hold locks, and virtual time stops while a goroutine
// waits for a lock.
//
// # Order
//
// The same input gives the same history. The server does one thing at a time. It first waits until all other
// goroutines of the bubble are idle, and lets a nanosecond pass afterwards: everything that a response, event or timer
// wakes is idle again before the next one. Requests of one instant are executed in the order of client, verb, path and
// body, whichever goroutine came first. Names and uids are counted. The server cannot control one order: caches pass
// the objects of their first list to controllers in the random order of a map. Objects that wake controllers should
// therefore be created after the caches have started.
//
// # What it leaves out
//
// Schemas (defaults and validation go into Resource.Admit), several versions of one kind (register the stored one),
// managed fields (apply keeps owners to itself and replaces lists as a whole), foreground deletion, dry runs, pages of
// lists, life cycles of namespaces, authorization, protobuf.
package virtualapi
