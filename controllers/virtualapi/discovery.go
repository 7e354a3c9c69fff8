package virtualapi

import (
	"net/http"
	"slices"
	"strings"
)

// discover answers requests for the server's kinds, or returns nil for other requests; the caller holds s.mu.
func (s *Server) discover(request *http.Request) *http.Response {
	if request.Method != http.MethodGet {
		return nil
	}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] == "version":
		return answerJSON(http.StatusOK, Object{"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
	case len(parts) == 1 && parts[0] == "api":
		return answerJSON(http.StatusOK, Object{"kind": "APIVersions", "versions": s.versions("")})
	case len(parts) == 1 && parts[0] == "apis":
		return answerJSON(http.StatusOK, Object{"apiVersion": "v1", "kind": "APIGroupList", "groups": s.groups()})
	case len(parts) == 2 && parts[0] == "api":
		return s.resources("", parts[1])
	case len(parts) == 2 && parts[0] == "apis":
		for _, group := range s.groups() {
			if group["name"] == parts[1] {
				group["apiVersion"], group["kind"] = "v1", "APIGroup"
				return answerJSON(http.StatusOK, group)
			}
		}
		return refuse(fail(http.StatusNotFound, "NotFound", "no group %s", parts[1]))
	case len(parts) == 3 && parts[0] == "apis":
		return s.resources(parts[1], parts[2])
	case parts[0] == "openapi" || parts[0] == "swagger.json":
		return refuse(fail(http.StatusNotFound, "NotFound", "no schemas are kept"))
	}
	return nil
}

// versions lists the versions of a group, in the order of registration.
func (s *Server) versions(group string) []string {
	versions := []string{}
	for _, k := range s.kinds {
		if k.Group == group && !slices.Contains(versions, k.Version) {
			versions = append(versions, k.Version)
		}
	}
	return versions
}

func (s *Server) groups() []Object {
	groups, seen := []Object{}, map[string]bool{"": true}
	for _, k := range s.kinds {
		if seen[k.Group] {
			continue
		}
		seen[k.Group] = true
		versions := []Object{}
		for _, version := range s.versions(k.Group) {
			versions = append(versions, Object{"groupVersion": k.Group + "/" + version, "version": version})
		}
		groups = append(groups, Object{"name": k.Group, "versions": versions, "preferredVersion": versions[0]})
	}
	return groups
}

func (s *Server) resources(group, version string) *http.Response {
	verbs := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	resources := []Object{}
	groupVersion := version
	if group != "" {
		groupVersion = group + "/" + version
	}
	for _, k := range s.kinds {
		if k.Group != group || k.Version != version {
			continue
		}
		resources = append(resources, Object{
			"name": k.Plural, "singularName": strings.ToLower(k.Kind), "namespaced": k.Namespaced, "kind": k.Kind,
			"verbs": verbs,
		})
		if k.Status {
			resources = append(resources, Object{
				"name": k.Plural + "/status", "singularName": "", "namespaced": k.Namespaced, "kind": k.Kind,
				"verbs": []string{"get", "patch", "update"},
			})
		}
	}
	if len(resources) == 0 {
		return refuse(fail(http.StatusNotFound, "NotFound", "no resources in %s", groupVersion))
	}
	return answerJSON(http.StatusOK, Object{
		"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": groupVersion, "resources": resources,
	})
}
