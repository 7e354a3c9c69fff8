package virtualapi

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"sort"
	"sync"
	"time"
)

// DefaultSizeLimit is etcd's default maximum size of an object.
const DefaultSizeLimit = 1536 * 1024

// Options are the options of a server.
type Options struct {
	Latency Latency
	// SizeLimit is the maximum size of an object in bytes of JSON; 0 means DefaultSizeLimit, a negative value no
	// limit.
	SizeLimit int
	// Resources are the resources registered at the start; see Server.Register.
	Resources []Resource
}

// Latency is how long operations take in virtual time.
type Latency struct {
	// Request is the time from a request to its response.
	Request time.Duration
	// Requests replaces Request: each request takes one of these times, all equally likely. The draw depends on Seed,
	// the client and the request, like that of Spread.
	Requests []time.Duration
	// Verbs replaces Request for single verbs: get, list, create, update, patch, delete, deletecollection.
	Verbs map[string]time.Duration
	// Watch is the time from a write to its event in a watch.
	Watch time.Duration
	// Spread draws each request's latency from [1-Spread, 1+Spread] times the above. The draw depends only on Seed,
	// the client and the request.
	Spread float64
	Seed   uint64
}

// A Resource is a kind of object that the server stores. Names of fields are those of the discovery API.
type Resource struct {
	Group, Version, Kind, Plural string
	Namespaced                   bool
	// Status says that the kind has a status subresource: writes of the object leave the status alone, writes of the
	// status leave the rest alone.
	Status bool
	// Builtin kinds have no generation, and updates of them need no resource version.
	Builtin bool
	// Selectable lists further fields that field selectors may name, such as "spec.nodeName".
	Selectable []string
	// Admit may change or refuse an object before it is stored, like a schema's defaults and webhooks. The old object
	// is nil on creation and must not be changed.
	Admit func(old, object Object) error
}

// An Object is an object's JSON.
type Object = map[string]any

// A Change is one write that the server has executed.
type Change struct {
	Resource *Resource
	// Type is ADDED, MODIFIED or DELETED.
	Type string
	// Old is nil for ADDED. Neither object may be changed.
	Old, Object Object
	// Client is the name of the writing client; "" is the world.
	Client string
}

// A Server is a Kubernetes API server in memory. Start it in the bubble of its clients. It calls synctest.Wait, which
// must not be called concurrently: other goroutines in the bubble use Pass instead.
type Server struct {
	options Options
	wake    chan struct{}
	closed  chan struct{} // asks the server to end
	ended   chan struct{} // the server has ended

	mu        sync.Mutex
	queue     operations
	seq       uint64
	kinds     []*kind
	version   uint64 // the last resource version
	uids      uint64
	counts    map[string]int
	total     int
	draws     map[string]uint64
	gone      map[string]bool // namespaces that were deleted
	observers []func(World, Change)
}

// kind is a resource with its objects.
type kind struct {
	Resource
	objects map[string]*stored // by namespace/name
	watches []*watch
	past    []pastEvent // for watches that start in the past
	// forgotten is the version of the last event that is no longer in past.
	forgotten uint64
}

// New starts a server.
func New(options Options) *Server {
	if options.SizeLimit == 0 {
		options.SizeLimit = DefaultSizeLimit
	}
	s := &Server{
		options: options,
		wake:    make(chan struct{}, 1),
		closed:  make(chan struct{}),
		ended:   make(chan struct{}),
		counts:  map[string]int{},
		draws:   map[string]uint64{},
		gone:    map[string]bool{},
	}
	for _, resource := range options.Resources {
		s.Register(resource)
	}
	go s.serve()
	return s
}

// Close ends the server. Pending requests fail.
func (s *Server) Close() {
	close(s.closed)
	<-s.ended
}

// Register adds a resource.
func (s *Server) Register(resource Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = append(s.kinds, &kind{Resource: resource, objects: map[string]*stored{}})
}

// Observe calls back after each write, in the order of writes. The callback must not block, and may access the server
// only through World.
func (s *Server) Observe(callback func(World, Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observers = append(s.observers, callback)
}

// Counts returns the number of requests by verb and resource, such as "update works/status". Watches count under their
// own verb; discovery does not count.
func (s *Server) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int, len(s.counts))
	for request, count := range s.counts {
		counts[request] = count
	}
	return counts
}

// Total returns the number of requests without watches and discovery.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// A Limit is a client's own request limit: a bucket that holds up to Burst tokens and gains QPS tokens per second. A
// QPS of 0 means no limit.
type Limit struct {
	QPS   float64
	Burst int
	// PerResource gives each resource its own bucket: controller-runtime's client makes a REST client, and thus a
	// limiter, for each kind, unless rest.Config has a common RateLimiter.
	PerResource bool
}

// Client returns a transport for rest.Config.Transport. The name appears in Change.Client and orders requests of one
// instant, so clients should have different names. The limit replaces rest.Config's QPS and Burst, which must be
// switched off (QPS: -1): it hands out tokens in a reproducible order.
func (s *Server) Client(name string, limit Limit) http.RoundTripper {
	return &client{server: s, name: name, limit: limit, start: time.Now(), buckets: map[string]*bucket{}}
}

type client struct {
	server  *Server
	name    string
	limit   Limit
	start   time.Time
	buckets map[string]*bucket
}

type bucket struct {
	tokens  float64 // negative: requests wait for future tokens
	filled  time.Time
	waiting []*call // in the order of their tokens
}

// admit takes a token and returns how long the request waits for it.
func (c *client) admit(now time.Time, made *call) time.Duration {
	resource := made.kind.qualified()
	if !c.limit.PerResource {
		resource = ""
	}
	b := c.buckets[resource]
	if b == nil {
		b = &bucket{tokens: float64(c.limit.Burst), filled: c.start}
		c.buckets[resource] = b
	}
	b.tokens = math.Min(float64(c.limit.Burst), b.tokens+now.Sub(b.filled).Seconds()*c.limit.QPS)
	b.filled = now
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	// Rounded: requests at equal distances remain so, and the timers that they set fire at one instant.
	wait := time.Duration(math.Round(-b.tokens / c.limit.QPS * float64(time.Second)))
	sent := func(before *call) bool { return !before.sent.After(now) }
	made.sent, made.bucket = now.Add(wait), b
	b.waiting = append(slices.DeleteFunc(b.waiting, sent), made)
	return wait
}

// abandon returns the tokens of abandoned requests. As in golang.org/x/time/rate, a token is lost if a later request
// already has one.
func (b *bucket) abandon() {
	last := len(b.waiting)
	for last > 0 && b.waiting[last-1].abandoned {
		last--
		b.tokens++
	}
	b.waiting = b.waiting[:last]
}

// latency returns the latency of one request. Discovery takes no time and is not handled here.
func (s *Server) latency(client, verb, path string) time.Duration {
	base := s.options.Latency.Request
	own, replaced := s.options.Latency.Verbs[verb]
	if replaced {
		base = own
	}
	times := s.options.Latency.Requests
	if s.options.Latency.Spread == 0 && (replaced || len(times) == 0) {
		return base
	}
	request := client + " " + verb + " " + path
	s.draws[request]++
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %d %s", s.options.Latency.Seed, s.draws[request], request)
	// FNV's high bits barely depend on the last bytes; a multiplication mixes them (splitmix64's finaliser).
	bits := hash.Sum64()
	bits = (bits ^ bits>>30) * 0xbf58476d1ce4e5b9
	bits = (bits ^ bits>>27) * 0x94d049bb133111eb
	bits ^= bits >> 31
	uniform := float64(bits>>11) / (1 << 53)
	if !replaced && len(times) > 0 {
		return times[int(uniform*float64(len(times)))]
	}
	return time.Duration(float64(base) * (1 + s.options.Latency.Spread*(2*uniform-1)))
}

// count counts a request; the caller holds s.mu.
func (s *Server) count(verb, resource string) {
	s.counts[verb+" "+resource]++
	if verb != "watch" {
		s.total++
	}
}

// find returns the kind of a group and plural name; the caller holds s.mu.
func (s *Server) find(group, version, plural string) *kind {
	for _, k := range s.kinds {
		if k.Group == group && k.Plural == plural && (version == "" || k.Version == version) {
			return k
		}
	}
	return nil
}

// keys returns the sorted keys of a kind's objects.
func (k *kind) keys() []string {
	keys := make([]string, 0, len(k.objects))
	for key := range k.objects {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
