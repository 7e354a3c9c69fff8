package virtualapi

import (
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// patch executes a patch request; old is nil if the object does not exist.
func (s *Server) patch(c *call, old *stored) (*stored, *Failure) {
	content, _, _ := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	if strings.HasPrefix(content, "application/apply-patch") {
		return s.apply(c, old)
	}
	if old == nil {
		return nil, c.kind.notFound(c.name)
	}
	var patched []byte
	var err error
	switch content {
	case "application/json-patch+json":
		var steps jsonpatch.Patch
		if steps, err = jsonpatch.DecodePatch(c.body); err == nil {
			patched, err = steps.Apply(old.raw)
		}
	case "application/merge-patch+json":
		patched, err = jsonpatch.MergePatch(old.raw, c.body)
	case "application/strategic-merge-patch+json":
		change, wrong := decode(c.body)
		if wrong != nil {
			return nil, fail(http.StatusBadRequest, "BadRequest", "%v", wrong)
		}
		if needsSchema(change) {
			return nil, fail(http.StatusUnsupportedMediaType, "UnsupportedMediaType",
				"this server has no schemas: it takes strategic merge patches without lists and directives only")
		}
		patched, err = jsonpatch.MergePatch(old.raw, c.body)
	default:
		return nil, fail(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "unknown kind of patch %q", content)
	}
	if err != nil {
		return nil, fail(422, "Invalid", "the patch does not fit: %v", err)
	}
	object, err := decode(patched)
	if err != nil {
		return nil, fail(422, "Invalid", "the patched object is no object: %v", err)
	}
	return s.replace(c.kind, old, object, c.subresource == "status", c.client.name)
}

// needsSchema says whether a strategic merge patch differs from a merge patch.
func needsSchema(value any) bool {
	switch value := value.(type) {
	case Object:
		for field, item := range value {
			if strings.HasPrefix(field, "$") || needsSchema(item) {
				return true
			}
		}
	case []any:
		return true
	}
	return false
}

// apply executes a server-side apply. Objects merge field by field; lists are replaced as a whole.
func (s *Server) apply(c *call, old *stored) (*stored, *Failure) {
	query := c.request.URL.Query()
	manager := query.Get("fieldManager")
	if manager == "" {
		return nil, fail(http.StatusBadRequest, "BadRequest", "fieldManager is required for apply patch")
	}
	var applied Object
	raw, err := yaml.YAMLToJSON(c.body)
	if err == nil {
		applied, err = decode(raw)
	}
	if err != nil {
		return nil, fail(http.StatusBadRequest, "BadRequest", "%v", err)
	}
	leaves := map[string]any{}
	flatten(applied, "", leaves)
	if old == nil {
		metadata(applied)["name"] = c.name
		written, failure := s.create(c.kind, c.namespace, applied, c.client.name)
		if failure == nil {
			written.owners = map[string]string{}
			for path := range leaves {
				written.owners[path] = manager
			}
		}
		return written, failure
	}
	current := map[string]any{}
	flatten(old.object, "", current)
	owners := maps.Clone(old.owners)
	if owners == nil {
		owners = map[string]string{}
	}
	object := clone(old.object).(Object)
	for _, path := range slices.Sorted(maps.Keys(leaves)) {
		owner := owners[path]
		if owner != "" && owner != manager && !reflect.DeepEqual(current[path], leaves[path]) &&
			query.Get("force") != "true" {
			return nil, fail(http.StatusConflict, "Conflict", "Apply failed with 1 conflict: conflict with %q: %s", owner,
				strings.ReplaceAll(path, "\x00", "."))
		}
		owners[path] = manager
		set(object, strings.Split(path[1:], "\x00"), leaves[path])
	}
	for _, path := range slices.Sorted(maps.Keys(owners)) {
		if _, kept := leaves[path]; !kept && owners[path] == manager {
			delete(owners, path)
			unset(object, strings.Split(path[1:], "\x00"))
		}
	}
	written, failure := s.replace(c.kind, old, object, c.subresource == "status", c.client.name)
	if failure == nil {
		written.owners = owners
	}
	return written, failure
}

// flatten lists an object's fields that are not objects, except those that identify the object.
func flatten(object Object, prefix string, into map[string]any) {
	for name, value := range object {
		path := prefix + "\x00" + name
		switch path {
		case "\x00apiVersion", "\x00kind", "\x00metadata\x00name", "\x00metadata\x00namespace":
			continue
		}
		if inner, ok := value.(Object); ok && len(inner) > 0 {
			flatten(inner, path, into)
		} else {
			into[path] = value
		}
	}
}

func set(object Object, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(Object)
		if !ok {
			inner = Object{}
			object[name] = inner
		}
		object = inner
	}
	object[path[len(path)-1]] = clone(value)
}

// unset removes a field and the objects that it leaves empty.
func unset(object Object, path []string) {
	inner, ok := object[path[0]].(Object)
	if len(path) == 1 {
		delete(object, path[0])
	} else if ok {
		if unset(inner, path[1:]); len(inner) == 0 {
			delete(object, path[0])
		}
	}
}
