package virtualapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// retention is how long events are kept for watches that start in the past. An earlier start gets 410 Gone.
const retention = time.Minute

type event struct {
	version uint64
	at      time.Time
	change  string
	old     Object // nil if the object is new
	object  Object
	raw     []byte
}

// pastEvent is an event that is kept for watches that start in the past. It holds only texts: the objects of a large
// status, kept for a minute, would dominate the memory.
type pastEvent struct {
	version  uint64
	at       time.Time
	change   string
	old, raw []byte
}

// again rebuilds the event with its objects.
func (p pastEvent) again() event {
	e := event{version: p.version, at: p.at, change: p.change, raw: p.raw}
	// The server has written these texts itself, so they are valid.
	e.object, _ = decode(p.raw)
	if p.old != nil {
		e.old, _ = decode(p.old)
	}
	return e
}

// selection is the selection of a list or watch.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	partial   bool // metadata only
}

func (k *kind) selects(s selection, object Object) bool {
	if object == nil {
		return false
	}
	meta := metadata(object)
	if s.namespace != "" && text(meta, "namespace") != s.namespace {
		return false
	}
	if !s.labels.Empty() {
		set := labels.Set{}
		given, _ := meta["labels"].(Object)
		for name, value := range given {
			set[name], _ = value.(string)
		}
		if !s.labels.Matches(set) {
			return false
		}
	}
	if s.fields.Empty() {
		return true
	}
	set := fields.Set{}
	for _, name := range k.selectable() {
		set[name] = field(object, name)
	}
	return s.fields.Matches(set)
}

// announce notifies observers and watches of a write; the caller holds s.mu.
func (s *Server) announce(k *kind, change Change, old *stored, raw []byte) {
	now := time.Now()
	for len(k.past) > 0 && now.Sub(k.past[0].at) > retention {
		k.forgotten = k.past[0].version
		k.past[0] = pastEvent{}
		k.past = k.past[1:]
	}
	e := event{version: s.version, at: now, change: change.Type, old: change.Old, object: change.Object, raw: raw}
	past := pastEvent{version: s.version, at: now, change: change.Type, raw: raw}
	if old != nil {
		past.old = old.raw
	}
	k.past = append(k.past, past)
	for _, w := range k.watches {
		s.send(k, w, e)
	}
	for _, observer := range s.observers {
		observer(World{s}, change)
	}
}

// send queues an event for a watch, if the watch selects it.
func (s *Server) send(k *kind, w *watch, e event) {
	before, after := k.selects(w.selection, e.old), k.selects(w.selection, e.object)
	change := e.change
	switch {
	case change == "DELETED":
		if !before && !after {
			return
		}
	case after && !before:
		change = "ADDED"
	case before && !after:
		change = "DELETED"
	case !after:
		return
	}
	raw := e.raw
	if w.selection.partial {
		raw = partial(e.object)
	}
	line := make([]byte, 0, len(raw)+40)
	line = append(line, `{"type":"`+change+`","object":`...)
	line = append(append(line, raw...), "}\n"...)
	s.push(&operation{
		due: e.at.Add(s.options.Latency.Watch), class: classEvent, order: e.version, key: w.client,
		run: func() { w.body.write(line) },
	})
}

type watch struct {
	client    string
	selection selection
	body      *stream
}

// watch answers a watch request; the caller holds s.mu.
func (s *Server) watch(ctx context.Context, client string, k *kind, sel selection, query map[string][]string) (
	*http.Response, *Failure) {
	get := func(name string) string {
		if values := query[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
	from := s.version
	version, initial := get("resourceVersion"), get("sendInitialEvents") == "true"
	if version != "" && version != "0" && !initial {
		parsed, err := strconv.ParseUint(version, 10, 64)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "BadRequest", "invalid resource version %q", version)
		}
		if parsed < k.forgotten {
			return nil, fail(http.StatusGone, "Expired", "too old resource version: %d (%d)", parsed, k.forgotten)
		}
		from = parsed
	}
	w := &watch{client: client, selection: sel, body: newStream(ctx)}
	w.body.closed = func() { s.unwatch(k, w) }
	if initial || version == "" || version == "0" {
		for _, name := range k.keys() {
			object := k.objects[name]
			if !k.selects(sel, object.object) {
				continue
			}
			raw := object.raw
			if sel.partial {
				raw = partial(object.object)
			}
			w.body.write(append(append([]byte(`{"type":"ADDED","object":`), raw...), "}\n"...))
		}
	}
	if initial {
		apiVersion, name := k.apiVersion(), k.Kind
		if sel.partial {
			apiVersion, name = "meta.k8s.io/v1", "PartialObjectMetadata"
		}
		w.body.write(fmt.Appendf(nil, `{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{`+
			`"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", apiVersion, name, s.version))
	}
	for _, e := range k.past {
		if e.version > from {
			s.send(k, w, e.again())
		}
	}
	k.watches = append(k.watches, w)
	return answer(http.StatusOK, w.body), nil
}

func (s *Server) unwatch(k *kind, gone *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range k.watches {
		if w == gone {
			k.watches = append(k.watches[:i:i], k.watches[i+1:]...)
			return
		}
	}
}

// stream is the body of a watch: it holds the unread events, and ends with the request's context.
type stream struct {
	ctx    context.Context
	closed func()
	once   sync.Once
	done   chan struct{}
	more   chan struct{}
	mu     sync.Mutex
	data   []byte
}

func newStream(ctx context.Context) *stream {
	return &stream{ctx: ctx, done: make(chan struct{}), more: make(chan struct{}, 1)}
}

func (b *stream) write(line []byte) {
	b.mu.Lock()
	b.data = append(b.data, line...)
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
}

func (b *stream) Read(into []byte) (int, error) {
	for {
		b.mu.Lock()
		if len(b.data) > 0 {
			n := copy(into, b.data)
			if b.data = b.data[n:]; len(b.data) == 0 {
				b.data = nil
			}
			b.mu.Unlock()
			return n, nil
		}
		b.mu.Unlock()
		select {
		case <-b.more:
		case <-b.done:
			return 0, io.EOF
		case <-b.ctx.Done():
			b.Close()
			return 0, b.ctx.Err()
		}
	}
}

func (b *stream) Close() error {
	b.once.Do(func() {
		close(b.done)
		b.closed()
	})
	return nil
}
