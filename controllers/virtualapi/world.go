package virtualapi

import (
	"encoding/json"
	"time"
)

// A World reads and writes objects without a request, for events outside of the controllers. It is valid only during
// the function that received it.
type World struct{ server *Server }

// Do runs a function immediately, in no defined order relative to requests: for the initial state.
func (s *Server) Do(function func(World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	function(World{s})
}

// Later runs a function after a delay of at least one nanosecond. Functions of one instant run in the order of their
// keys, then in the order of calls.
func (s *Server) Later(delay time.Duration, key string, function func(World)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	World{s}.Later(delay, key, function)
}

// Later is Server.Later for observers and functions of the world.
func (w World) Later(delay time.Duration, key string, function func(World)) {
	w.server.push(&operation{due: time.Now().Add(delay), class: classWorld, key: key, run: func() { function(w) }})
}

// Latency draws the latency of a client's request that a model of the client, not the server, executes.
func (w World) Latency(client, verb, path string) time.Duration {
	return w.server.latency(client, verb, path)
}

// Get returns an object, or nil. It must not be changed.
func (w World) Get(group, plural, namespace, name string) Object {
	k := w.server.find(group, "", plural)
	if k == nil || k.objects[key(namespace, name)] == nil {
		return nil
	}
	return k.objects[key(namespace, name)].object
}

// List returns the objects of a kind by namespace and name. They must not be changed.
func (w World) List(group, plural string) []Object {
	k := w.server.find(group, "", plural)
	if k == nil {
		return nil
	}
	objects := make([]Object, 0, len(k.objects))
	for _, name := range k.keys() {
		objects = append(objects, k.objects[name].object)
	}
	return objects
}

// Create stores an object with its status. It accepts any value whose JSON is an object, including typed ones.
func (w World) Create(group, plural string, value any) error {
	object, err := toObject(value)
	if err != nil {
		return err
	}
	k := w.server.find(group, "", plural)
	if k == nil {
		return fail(404, "NotFound", "the server does not know %s of %q", plural, group)
	}
	status := object["status"]
	made, failure := w.server.create(k, text(metadata(object), "namespace"), object, "")
	if failure != nil {
		return failure
	}
	if status == nil || !k.Status {
		return nil
	}
	changed := clone(made.object).(Object)
	changed["status"] = status
	if _, failure = w.server.replace(k, made, changed, true, ""); failure != nil {
		return failure
	}
	return nil
}

// Update changes an object or, if status is true, its status. The function receives a copy.
func (w World) Update(group, plural, namespace, name string, status bool, change func(Object)) error {
	k := w.server.find(group, "", plural)
	if k == nil {
		return fail(404, "NotFound", "the server does not know %s of %q", plural, group)
	}
	old := k.objects[key(namespace, name)]
	if old == nil {
		return k.notFound(name)
	}
	object := clone(old.object).(Object)
	change(object)
	// From here on, the changed object is plain JSON like the others.
	object, err := toObject(object)
	if err != nil {
		return err
	}
	if _, failure := w.server.replace(k, old, object, status, ""); failure != nil {
		return failure
	}
	return nil
}

// Delete deletes an object.
func (w World) Delete(group, plural, namespace, name string) error {
	k := w.server.find(group, "", plural)
	if k == nil || k.objects[key(namespace, name)] == nil {
		return fail(404, "NotFound", "%s %q not found", plural, name)
	}
	if _, failure := w.server.delete(k, k.objects[key(namespace, name)], ""); failure != nil {
		return failure
	}
	return nil
}

func toObject(value any) (Object, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}
