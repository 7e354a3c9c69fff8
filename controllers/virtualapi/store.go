package virtualapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// stored is one object. Its JSON values are never changed: a write replaces them.
type stored struct {
	object Object
	raw    []byte
	// owners maps paths of applied fields to their field managers. It replaces managedFields, which are not kept.
	owners map[string]string
}

// A Failure is a response that refuses a request. It is also the error of Update and the other functions of World.
type Failure struct {
	Code            int
	Reason, Message string
}

func (f *Failure) Error() string { return f.Message }

func fail(code int, reason, format string, arguments ...any) *Failure {
	return &Failure{Code: code, Reason: reason, Message: fmt.Sprintf(format, arguments...)}
}

func (k *kind) notFound(name string) *Failure {
	return fail(http.StatusNotFound, "NotFound", "%s %q not found", k.qualified(), name)
}

func (k *kind) qualified() string {
	if k.Group == "" {
		return k.Plural
	}
	return k.Plural + "." + k.Group
}

func (k *kind) apiVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

func key(namespace, name string) string { return namespace + "/" + name }

// metadata returns the metadata of an object, created if absent.
func metadata(object Object) Object {
	if m, ok := object["metadata"].(Object); ok {
		return m
	}
	m := Object{}
	object["metadata"] = m
	return m
}

func text(object Object, field string) string {
	value, _ := object[field].(string)
	return value
}

// clone returns a deep copy of an object.
func clone(value any) any {
	switch value := value.(type) {
	case Object:
		copied := make(Object, len(value))
		for field, item := range value {
			copied[field] = clone(item)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = clone(item)
		}
		return copied
	}
	return value
}

func generation(object Object) int64 {
	switch value := metadata(object)["generation"].(type) {
	case json.Number:
		number, _ := value.Int64()
		return number
	case int64:
		return value
	case int:
		return int64(value)
	case float64:
		return int64(value)
	}
	return 0
}

// content is the part whose changes raise the generation: everything but metadata, and the status of kinds that have
// the subresource.
func (k *kind) content(object Object) Object {
	content := maps.Clone(object)
	delete(content, "metadata")
	if k.Status {
		delete(content, "status")
	}
	return content
}

func stamp() string { return time.Now().UTC().Format(time.RFC3339) }

// create stores a new object. The object belongs to the server from here on.
func (s *Server) create(k *kind, namespace string, object Object, by string) (*stored, *Failure) {
	meta := metadata(object)
	if text(meta, "name") == "" {
		prefix := text(meta, "generateName")
		if prefix == "" {
			return nil, fail(422, "Invalid", "%s \"\" is invalid: metadata.name: Required value", k.Kind)
		}
		meta["name"] = prefix + suffix(s.uids)
	}
	if k.Namespaced {
		meta["namespace"] = namespace
	} else {
		namespace = ""
		delete(meta, "namespace")
	}
	name := text(meta, "name")
	if s.gone[namespace] {
		return nil, fail(http.StatusForbidden, "Forbidden", "%s %q is forbidden: unable to create new content in namespace %s "+
			"because it is being terminated", k.qualified(), name, namespace)
	}
	if k.objects[key(namespace, name)] != nil {
		return nil, fail(http.StatusConflict, "AlreadyExists", "%s %q already exists", k.qualified(), name)
	}
	if text(meta, "resourceVersion") != "" {
		return nil, fail(500, "InternalError", "resourceVersion should not be set on objects to be created")
	}
	object["apiVersion"], object["kind"] = k.apiVersion(), k.Kind
	delete(meta, "deletionTimestamp")
	delete(meta, "managedFields")
	s.uids++
	meta["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012x", s.uids)
	meta["creationTimestamp"] = stamp()
	if k.Status {
		delete(object, "status")
	}
	if !k.Builtin {
		meta["generation"] = json.Number("1")
	}
	if failure := k.admit(nil, object); failure != nil {
		return nil, failure
	}
	if k.isNamespace() {
		delete(s.gone, name)
	}
	return s.write(k, "ADDED", nil, object, by)
}

// isNamespace says that the objects are namespaces. Nothing can be created in a deleted namespace.
func (k *kind) isNamespace() bool { return k.Group == "" && k.Kind == "Namespace" }

// suffix returns the suffix of a generated name: five characters of the alphabet that Kubernetes uses, from a counter.
func suffix(count uint64) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	letters := []byte("bbbbb")
	count = (count + 1) * 2654435761 % (27 * 27 * 27 * 27 * 27)
	for i := range letters {
		letters[i] = alphabet[count%27]
		count /= 27
	}
	return string(letters)
}

func (k *kind) admit(old, object Object) *Failure {
	if k.Admit == nil {
		return nil
	}
	err := k.Admit(old, object)
	if err == nil {
		return nil
	}
	if failure, ok := err.(*Failure); ok {
		return failure
	}
	return fail(http.StatusForbidden, "Forbidden", "admission webhook denied the request: %v", err)
}

// replace writes a changed object over a stored one. The object belongs to the server from here on.
func (s *Server) replace(k *kind, old *stored, object Object, status bool, by string) (*stored, *Failure) {
	meta, before := metadata(object), metadata(old.object)
	name := text(before, "name")
	if asked := text(meta, "resourceVersion"); asked != "" && asked != text(before, "resourceVersion") {
		return nil, fail(http.StatusConflict, "Conflict", "Operation cannot be fulfilled on %s %q: the object has been "+
			"modified; please apply your changes to the latest version and try again", k.qualified(), name)
	}
	if asked := text(meta, "uid"); asked != "" && asked != text(before, "uid") {
		return nil, fail(http.StatusConflict, "Conflict", "Operation cannot be fulfilled on %s %q: Precondition failed: "+
			"UID in precondition: %s, UID in object meta: %s", k.qualified(), name, asked, text(before, "uid"))
	}
	if status {
		changed := maps.Clone(old.object)
		if value, ok := object["status"]; ok {
			changed["status"] = value
		} else {
			delete(changed, "status")
		}
		changed["metadata"] = clone(before)
		object, meta = changed, metadata(changed)
	} else {
		if k.Status {
			if value, ok := old.object["status"]; ok {
				object["status"] = value
			} else {
				delete(object, "status")
			}
		}
		for _, field := range []string{"name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion",
			"deletionTimestamp", "deletionGracePeriodSeconds"} {
			if value, ok := before[field]; ok {
				meta[field] = value
			} else {
				delete(meta, field)
			}
		}
		delete(meta, "managedFields")
		object["apiVersion"], object["kind"] = k.apiVersion(), k.Kind
	}
	if !status {
		if failure := k.admit(old.object, object); failure != nil {
			return nil, failure
		}
	}
	if !k.Builtin && !status && !same(k.content(object), k.content(old.object)) {
		meta["generation"] = json.Number(strconv.FormatInt(generation(old.object)+1, 10))
	}
	if text(meta, "deletionTimestamp") != "" && !hasFinalizers(object) {
		return s.remove(k, old, object, by)
	}
	if same(object, old.object) {
		return old, nil
	}
	return s.write(k, "MODIFIED", old, object, by)
}

func hasFinalizers(object Object) bool {
	list, _ := metadata(object)["finalizers"].([]any)
	return len(list) > 0
}

// write gives an object its resource version, stores it and notifies watches and observers.
func (s *Server) write(k *kind, change string, old *stored, object Object, by string) (*stored, *Failure) {
	meta := metadata(object)
	meta["resourceVersion"] = strconv.FormatUint(s.version+1, 10)
	raw, err := encode(object)
	if err != nil {
		return nil, fail(500, "InternalError", "%v", err)
	}
	if limit := s.options.SizeLimit; limit > 0 && len(raw) > limit {
		// etcd's response is a failure without a reason.
		return nil, fail(500, "", "etcdserver: request is too large")
	}
	s.version++
	written := &stored{object: object, raw: raw}
	event := Change{Resource: &k.Resource, Type: change, Object: object, Client: by}
	if old != nil {
		written.owners = old.owners
		event.Old = old.object
	}
	k.objects[key(text(meta, "namespace"), text(meta, "name"))] = written
	s.announce(k, event, old, raw)
	return written, nil
}

// remove removes an object from the store and deletes the objects that it owned.
func (s *Server) remove(k *kind, old *stored, last Object, by string) (*stored, *Failure) {
	meta := metadata(last)
	s.version++
	meta["resourceVersion"] = strconv.FormatUint(s.version, 10)
	raw, err := encode(last)
	if err != nil {
		return nil, fail(500, "InternalError", "%v", err)
	}
	delete(k.objects, key(text(meta, "namespace"), text(meta, "name")))
	if k.isNamespace() {
		s.gone[text(meta, "name")] = true
	}
	s.announce(k, Change{Resource: &k.Resource, Type: "DELETED", Old: old.object, Object: last, Client: by}, old, raw)
	s.collect(text(meta, "uid"))
	return &stored{object: last, raw: raw}, nil
}

// delete removes an object, or marks it for deletion if it has finalizers.
func (s *Server) delete(k *kind, old *stored, by string) (*stored, *Failure) {
	object := clone(old.object).(Object)
	if !hasFinalizers(object) {
		return s.remove(k, old, object, by)
	}
	meta := metadata(object)
	if text(meta, "deletionTimestamp") != "" {
		return old, nil
	}
	meta["deletionTimestamp"] = stamp()
	meta["deletionGracePeriodSeconds"] = json.Number("0")
	if !k.Builtin {
		meta["generation"] = json.Number(strconv.FormatInt(generation(object)+1, 10))
	}
	return s.write(k, "MODIFIED", old, object, by)
}

// collect deletes, a request later, every object whose last owner was the removed one, as the garbage collector does in
// the background.
func (s *Server) collect(uid string) {
	for _, k := range s.kinds {
		for name, object := range k.objects {
			if !ownedOnlyBy(object.object, uid) {
				continue
			}
			World{s}.Later(s.options.Latency.Request, "collect "+k.qualified()+" "+name, func(World) {
				if old := k.objects[name]; old != nil && ownedOnlyBy(old.object, uid) {
					s.delete(k, old, "garbage-collector")
				}
			})
		}
	}
}

func ownedOnlyBy(object Object, uid string) bool {
	owners, _ := metadata(object)["ownerReferences"].([]any)
	found := false
	for _, owner := range owners {
		reference, _ := owner.(Object)
		if text(reference, "uid") != uid {
			return false
		}
		found = true
	}
	return found
}
