package virtualapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// A call is one request after its path was understood.
type call struct {
	client      *client
	request     *http.Request
	kind        *kind
	verb        string
	namespace   string
	name        string
	subresource string
	body        []byte
	// sent is when the client's limit lets the request go, after a wait in this bucket.
	sent   time.Time
	bucket *bucket
	// abandoned says that the caller gave up before the request was sent.
	abandoned bool
}

// RoundTrip answers a request.
func (c *client) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		request.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	s := c.server
	s.mu.Lock()
	if response := s.discover(request); response != nil {
		// Answered immediately: clients call discovery while they hold locks, and time stops while a goroutine waits
		// for a lock.
		s.mu.Unlock()
		return response, nil
	}
	made, failure := s.parse(request)
	if failure != nil {
		s.mu.Unlock()
		return refuse(failure), nil
	}
	made.client, made.body = c, body
	done := make(chan *http.Response, 1)
	s.enqueue(made, done)
	s.mu.Unlock()
	select {
	case response := <-done:
		response.Request = request
		return response, nil
	case <-request.Context().Done():
		s.abandon(made)
		return nil, request.Context().Err()
	case <-s.closed:
		return nil, errors.New("the server is closed")
	}
}

// abandon keeps a call that still waits for its client's limit from being sent. A call that was sent is executed.
func (s *Server) abandon(made *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	made.abandoned = made.bucket != nil && made.sent.After(now)
	if made.abandoned {
		// All calls abandoned in one instant are removed before tokens are returned.
		s.push(&operation{due: now, class: classEvent, key: "limit", run: made.bucket.abandon})
	}
}

// enqueue lets a call wait for its client's limit and for its latency; the caller holds s.mu.
func (s *Server) enqueue(made *call, done chan<- *http.Response) {
	c, request := made.client, made.request
	order := c.name + "\x00" + made.verb + "\x00" + request.URL.Path + "\x00" + request.URL.RawQuery + "\x00" +
		string(made.body)
	resource := made.kind.Plural
	if made.subresource != "" {
		resource += "/" + made.subresource
	}
	execute := func(wait time.Duration) {
		latency := s.latency(c.name, made.verb, request.URL.Path)
		s.push(&operation{due: time.Now().Add(wait + latency), class: classRequest, key: order, run: func() {
			if made.abandoned {
				return
			}
			s.count(made.verb, resource)
			response, failure := s.execute(made)
			if failure != nil {
				response = refuse(failure)
			}
			done <- response
		}})
	}
	if c.limit.QPS <= 0 && s.options.Latency.Spread == 0 {
		execute(0)
		return
	}
	// Tokens and latencies are drawn in the order of the queue, not of goroutines.
	s.push(&operation{due: time.Now(), class: classRequest, key: order, run: func() {
		if c.limit.QPS <= 0 {
			execute(0)
		} else if request.Context().Err() == nil {
			execute(c.admit(time.Now(), made))
		}
	}})
}

// parse parses a request; the caller holds s.mu.
func (s *Server) parse(request *http.Request) (*call, *Failure) {
	unknown := fail(http.StatusNotFound, "NotFound", "the server could not find the requested resource: %s",
		request.URL.Path)
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	var group, version string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, unknown
	}
	made := &call{request: request}
	if parts[0] == "namespaces" && len(parts) >= 3 && s.find(group, version, parts[2]) != nil {
		made.namespace, parts = parts[1], parts[2:]
	}
	if made.kind = s.find(group, version, parts[0]); made.kind == nil || len(parts) > 3 {
		return nil, unknown
	}
	if len(parts) > 1 {
		made.name = parts[1]
	}
	if len(parts) > 2 {
		made.subresource = parts[2]
		if made.subresource != "status" || !made.kind.Status {
			return nil, unknown
		}
	}
	return made, made.understand()
}

// understand derives the verb from the method.
func (c *call) understand() *Failure {
	content, _, _ := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	if strings.Contains(content, "protobuf") {
		return fail(http.StatusUnsupportedMediaType, "UnsupportedMediaType",
			"this server speaks JSON only: set rest.Config.ContentType to application/json")
	}
	switch c.request.Method {
	case http.MethodGet:
		c.verb = "get"
		if c.name == "" {
			c.verb = "list"
			if watch := c.request.URL.Query().Get("watch"); watch == "true" || watch == "1" {
				c.verb = "watch"
			}
		}
	case http.MethodPost:
		c.verb = "create"
	case http.MethodPut:
		c.verb = "update"
	case http.MethodPatch:
		c.verb = "patch"
	case http.MethodDelete:
		c.verb = "delete"
		if c.name == "" {
			c.verb = "deletecollection"
		}
	}
	if c.verb == "" || (c.verb == "create") != (c.request.Method == http.MethodPost) ||
		(c.name == "" && slices.Contains([]string{"update", "patch"}, c.verb)) || (c.name != "" && c.verb == "create") {
		return fail(http.StatusMethodNotAllowed, "MethodNotAllowed", "%s is not allowed here", c.request.Method)
	}
	return nil
}

// execute executes a call; the caller holds s.mu.
func (s *Server) execute(c *call) (*http.Response, *Failure) {
	k, partially := c.kind, strings.Contains(c.request.Header.Get("Accept"), "as=PartialObjectMetadata")
	old := k.objects[key(c.namespace, c.name)]
	if c.name != "" && old == nil && c.verb != "patch" {
		return nil, k.notFound(c.name)
	}
	var written *stored
	var failure *Failure
	code := http.StatusOK
	switch c.verb {
	case "get":
		written = old
	case "list", "watch", "deletecollection":
		return s.many(c, partially)
	case "create":
		object, err := decode(c.body)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "BadRequest", "%v", err)
		}
		written, failure = s.create(k, c.namespace, object, c.client.name)
		code = http.StatusCreated
	case "update":
		object, err := decode(c.body)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "BadRequest", "%v", err)
		}
		if !k.Builtin && text(metadata(object), "resourceVersion") == "" {
			return nil, fail(422, "Invalid", "%s %q is invalid: metadata.resourceVersion: Invalid value: 0x0: must be "+
				"specified for an update", k.Kind, c.name)
		}
		written, failure = s.replace(k, old, object, c.subresource == "status", c.client.name)
	case "patch":
		written, failure = s.patch(c, old)
		if old == nil {
			code = http.StatusCreated
		}
	case "delete":
		if failure = precondition(k, old, c.body); failure == nil {
			written, failure = s.delete(k, old, c.client.name)
		}
	}
	if failure != nil {
		return nil, failure
	}
	raw := written.raw
	if partially {
		raw = partial(written.object)
	}
	return answer(code, io.NopCloser(bytes.NewReader(raw))), nil
}

// precondition checks the options of a delete request.
func precondition(k *kind, old *stored, body []byte) *Failure {
	var options struct {
		Preconditions struct{ UID, ResourceVersion *string }
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &options); err != nil {
			return fail(http.StatusBadRequest, "BadRequest", "%v", err)
		}
	}
	meta, asked := metadata(old.object), options.Preconditions
	if asked.UID != nil && *asked.UID != text(meta, "uid") ||
		asked.ResourceVersion != nil && *asked.ResourceVersion != text(meta, "resourceVersion") {
		return fail(http.StatusConflict, "Conflict", "Operation cannot be fulfilled on %s %q: the object in the "+
			"precondition is not the stored one", k.qualified(), text(meta, "name"))
	}
	return nil
}

// many answers a call that concerns several objects.
func (s *Server) many(c *call, partially bool) (*http.Response, *Failure) {
	k, query := c.kind, c.request.URL.Query()
	sel := selection{namespace: c.namespace, partial: partially}
	var err error
	if sel.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return nil, fail(http.StatusBadRequest, "BadRequest", "labelSelector: %v", err)
	}
	if sel.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return nil, fail(http.StatusBadRequest, "BadRequest", "fieldSelector: %v", err)
	}
	for _, requirement := range sel.fields.Requirements() {
		if !slices.Contains(k.selectable(), requirement.Field) {
			return nil, fail(http.StatusBadRequest, "BadRequest", "field label not supported: %s", requirement.Field)
		}
	}
	if c.verb == "watch" {
		return s.watch(c.request.Context(), c.client.name, k, sel, query)
	}
	apiVersion, name := k.apiVersion(), k.Kind+"List"
	if partially {
		apiVersion, name = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	list := []byte(`{"apiVersion":"` + apiVersion + `","kind":"` + name + `","metadata":{"resourceVersion":"` +
		strconv.FormatUint(s.version, 10) + `"},"items":[` + "\n")
	first := true
	// One item per line is still valid JSON, and easier to read.
	for _, objectKey := range k.keys() {
		object := k.objects[objectKey]
		if object == nil || !k.selects(sel, object.object) {
			continue
		}
		if c.verb == "deletecollection" {
			if _, failure := s.delete(k, object, c.client.name); failure != nil {
				return nil, failure
			}
		}
		if !first {
			list = append(list, ",\n"...)
		}
		first = false
		if partially {
			list = append(list, partial(object.object)...)
		} else {
			list = append(list, object.raw...)
		}
	}
	return answer(http.StatusOK, io.NopCloser(bytes.NewReader(append(list, "\n]}"...)))), nil
}

// selectable lists the fields of a kind that a selector may name.
func (k *kind) selectable() []string {
	return append([]string{"metadata.name", "metadata.namespace"}, k.Selectable...)
}

// field returns a field's value as text, or "" if it is absent.
func field(object Object, path string) string {
	var value any = object
	for _, name := range strings.Split(path, ".") {
		parent, _ := value.(Object)
		value = parent[name]
	}
	switch value := value.(type) {
	case string:
		return value
	case nil:
		return ""
	default:
		raw, _ := json.Marshal(value)
		return string(raw)
	}
}

func partial(object Object) []byte {
	raw, _ := json.Marshal(Object{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"],
	})
	return raw
}

func answer(code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code) + " " + http.StatusText(code),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
	}
}

func answerJSON(code int, value any) *http.Response {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return answer(code, io.NopCloser(bytes.NewReader(raw)))
}

func refuse(failure *Failure) *http.Response {
	return answerJSON(failure.Code, Object{
		"apiVersion": "v1", "kind": "Status", "metadata": Object{}, "status": "Failure", "code": failure.Code,
		"reason": failure.Reason, "message": failure.Message,
	})
}
