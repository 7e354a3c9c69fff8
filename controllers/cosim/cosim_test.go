package cosim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleetsim/controllers/virtualapi"
)

// batches is a product for tests: one target after the other, each request through the API, polling every 15 s.
type batches struct {
	session *Session
	passes  int
	stop    bool
}

func (b *batches) Start(s *Session) (Ready, error) {
	if s.Hello.Files["order"] == "bad" {
		return Ready{}, fmt.Errorf("order: bad is no order")
	}
	b.session = s
	s.API = virtualapi.New(virtualapi.Options{Latency: s.APILatency(), Resources: []virtualapi.Resource{
		{Group: "test", Version: "v1", Kind: "Cluster", Plural: "clusters", Status: true},
	}})
	s.API.Do(func(w virtualapi.World) {
		for _, target := range s.Hello.Targets {
			err := w.Create("test", "clusters", virtualapi.Object{
				"metadata": virtualapi.Object{"name": target.Name}, "spec": virtualapi.Object{"revision": *target.Revision},
			})
			if err != nil {
				panic(err)
			}
		}
	})
	places := map[string]int{}
	for i, target := range s.Hello.Targets {
		places[target.Name] = i
	}
	s.API.Observe(func(_ virtualapi.World, change virtualapi.Change) {
		if change.Client == "controller" {
			s.Deploy(0, places[change.Object["metadata"].(virtualapi.Object)["name"].(string)], s.Hello.Release.Revision)
		}
	})
	time.AfterFunc(2*time.Nanosecond, func() {
		b.loop(&http.Client{Transport: s.API.Client("controller", virtualapi.Limit{})})
	})
	return Ready{Name: "batches", Lookahead: *s.Hello.Latency.Request}, nil
}

func (b *batches) loop(client *http.Client) {
	for i := 0; ; {
		b.passes++
		if i == len(b.session.Hello.Targets) {
			b.session.Completed(0, b.session.Hello.Release.Revision)
			return
		}
		url := "http://virtual/apis/test/v1/clusters/" + b.session.Hello.Targets[i].Name
		if i == 0 || strings.Contains(get(client, url, "-"+b.session.Hello.Targets[max(i, 1)-1].Name), "Ready") {
			request, _ := http.NewRequest("PATCH", url, strings.NewReader(`{"spec":{"revision":2}}`))
			request.Header.Set("Content-Type", "application/merge-patch+json")
			if response, err := client.Do(request); err != nil || response.StatusCode != 200 {
				panic(fmt.Sprint(response, err))
			}
			b.session.Status(0, fmt.Sprint(i+1, " of ", len(b.session.Hello.Targets)))
			i++
		}
		time.Sleep(15 * time.Second)
	}
}

func get(client *http.Client, url, previous string) string {
	response, err := client.Get(url[:strings.LastIndex(url, "/")+1] + previous[1:])
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

func (b *batches) News(news News, delay time.Duration) error {
	if news.Ready != nil {
		name := b.session.Hello.Targets[*news.Target].Name
		b.session.API.Later(delay, name, func(w virtualapi.World) {
			w.Update("test", "clusters", "", name, true, func(o virtualapi.Object) { o["status"] = "Ready" })
		})
	}
	return nil
}
func (b *batches) Hold(int) Hold {
	return Hold{Rule: "one by one", Explanation: "One cluster is being updated."}
}
func (b *batches) Passes() map[string]int {
	return map[string]int{"loop": b.passes, "other": 2 * b.passes}
}

func (b *batches) Loop() string { return "loop" }

// talk returns the answers to the given lines.
func talk(t *testing.T, lines ...string) ([]string, error) {
	t.Helper()
	var out bytes.Buffer
	var result error
	synctest.Test(t, func(*testing.T) {
		product := &batches{}
		result = Serve(strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, product)
		if product.session != nil {
			for range 10 { // the loop ends with the last target
				time.Sleep(time.Minute)
				product.session.API.Do(func(w virtualapi.World) {
					for _, target := range product.session.Hello.Targets {
						w.Update("test", "clusters", "", target.Name, true, func(o virtualapi.Object) { o["status"] = "Ready" })
					}
				})
			}
			product.session.API.Close()
		}
	})
	return strings.Split(strings.TrimSpace(out.String()), "\n"), result
}

const hello = `{"hello": {"protocol": 1, "targets": [{"name": "a"}, {"name": "b"}], "release": {"installed": 1, "revision": 2}}}`

func TestARolloutOverTheProtocol(t *testing.T) {
	got, err := talk(t, hello,
		`{"run": {"until": 60000000000}}`,
		`{"run": {"until": 10000000000}}`,
		`{"run": {"until": 60000000000, "news": [{"target": 0, "applied": 2, "ready": true}]}}`,
		`{"hold": {}}`,
		`{"run": {"until": 60000000000, "news": [{"target": 1, "ready": true}]}}`,
		`{"bye": {}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"ready":{"name":"batches","lookahead":5000000}}`,
		`{"now":5000002,"deploy":[{"target":0,"revision":2}],"passes":1,"requests":1,"status":"1 of 2"}`,
		`{"now":10000000000}`,
		`{"now":15015000002,"deploy":[{"target":1,"revision":2}],"passes":1,"requests":2,"status":"2 of 2"}`,
		`{"hold":{"rule":"one by one","explanation":"One cluster is being updated."}}`,
		`{"now":30015000002,"passes":1,"completed":2}`,
		`{"bye":{"requests":{"get clusters":1,"patch clusters":2},"passes":{"loop":3,"other":6}}}`,
	}
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			t.Errorf("answer %d is\n%s\nand not\n%s", i, strings.Join(got[min(i, len(got)):][:min(1, len(got)-min(i, len(got)))], ""), line)
		}
	}
}

func TestNewsTakesEffectAtOneTimeHoweverTimeIsCut(t *testing.T) {
	ready := func(lines ...string) string {
		got, err := talk(t, append(append([]string{hello}, lines...), `{"run": {"until": 60000000000}}`, `{"bye": {}}`)...)
		if err != nil {
			t.Fatal(err)
		}
		return got[len(got)-2]
	}
	// The poll at 15.005 s runs at 15.010 s, and a target that was ready at 15.004 s shows at 15.009 s.
	seen := ready(`{"run": {"until": 1000000000}}`, `{"run": {"until": 15004000000}}`,
		`{"run": {"until": 15009000000, "news": [{"at": 15004000000, "target": 0, "ready": true}]}}`)
	ahead := ready(`{"run": {"until": 1000000000}}`, `{"run": {"until": 15009000000}}`,
		`{"run": {"until": 15009000000, "news": [{"at": 15004000000, "target": 0, "ready": true}]}}`)
	if seen != ahead || !strings.Contains(seen, `"now":15015000002`) {
		t.Fatalf("%s\n%s", seen, ahead)
	}
	late := ready(`{"run": {"until": 1000000000}}`, `{"run": {"until": 15006000000}}`,
		`{"run": {"until": 15006000000, "news": [{"at": 15006000000, "target": 0, "ready": true}]}}`)
	if !strings.Contains(late, `"now":30020000002`) {
		t.Fatal(late)
	}
}

func TestTheSeedDecidesWhatMathRandDraws(t *testing.T) {
	draws := map[int64]bool{}
	for _, number := range []uint64{1, 1, 2, 1} {
		seed(number)
		draws[rand.Int63()] = true
	}
	if len(draws) != 2 {
		t.Errorf("2 seeds drew %d numbers", len(draws))
	}
}

func TestWrongLinesAreErrors(t *testing.T) {
	for _, test := range []struct {
		words string
		lines []string
	}{
		{"hello must come first", []string{`{"bye": {}}`}},
		{"hello must come once", []string{hello, hello}},
		{"one JSON object", []string{`hello`}},
		{"one of hello, run, hold and bye", []string{hello, `{}`}},
		{"speaks 1", []string{`{"hello": {"protocol": 2}}`}},
		{"target 1 is", []string{`{"hello": {"protocol": 1, "targets": [{"name": "a"}, {"name": "a"}]}}`}},
		{"bad is no order", []string{`{"hello": {"protocol": 1, "files": {"order": "bad"}}}`}},
		{"until must not be before", []string{hello, `{"run": {"until": 1000}}`, `{"run": {"until": 999}}`}},
		{"target must be below 2", []string{hello, `{"run": {"until": 1000, "news": [{"target": 2, "ready": true}]}}`}},
		{"at must lie in", []string{hello, `{"run": {"until": 1000, "news": [{"at": 1, "target": 0, "ready": true}]}}`}},
	} {
		got, err := talk(t, test.lines...)
		if err == nil {
			t.Errorf("%v: no error", test.lines)
			continue
		}
		var answer struct{ Error Failure }
		json.Unmarshal([]byte(got[len(got)-1]), &answer)
		if !strings.Contains(answer.Error.Message, test.words) {
			t.Errorf("%v: %q", test.lines, answer.Error.Message)
		}
	}
	if _, err := talk(t, hello); err == nil || !strings.Contains(err.Error(), "before bye") {
		t.Error(err)
	}
}

func TestApplicationsHaveTheirClusters(t *testing.T) {
	given := Hello{
		Targets: []Target{{Name: "a", Labels: map[string]string{"tier": "x"}}, {Name: "b"}, {Name: "c"}},
		Applications: []Application{
			{Name: "all", Release: Release{Revision: 1}},
			{Name: "list", Clusters: []int{0, 2}, Release: Release{Revision: 1}},
			{Name: "others", Selector: []byte(`{"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}`),
				Release: Release{Installed: 1, Revision: 2, At: time.Minute}},
		},
	}
	found, err := applications(&given)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(found[0].Clusters, found[1].Clusters, found[2].Clusters); got != "[0 1 2] [0 2] [1 2]" {
		t.Error(got)
	}
	alone, err := applications(&Hello{Targets: given.Targets, Release: Release{Name: "app", Revision: 4}})
	if err != nil || len(alone) != 1 || alone[0].Name != "app" || len(alone[0].Clusters) != 3 {
		t.Errorf("%v, %v", alone, err)
	}
}

func TestWrongApplicationsAreErrors(t *testing.T) {
	one := Release{Revision: 1}
	for words, change := range map[string]func(*Hello){
		"application 1 is":          func(h *Hello) { h.Applications[1].Name = "x" },
		"and not to hello":          func(h *Hello) { h.Release = one },
		"target a has one":          func(h *Hello) { h.Targets[0].Revision = new(int) },
		"revision of at least 1":    func(h *Hello) { h.Applications[1].Release.Revision = 0 },
		"exclude each other":        func(h *Hello) { h.Applications[0].Clusters, h.Applications[0].Selector = []int{0}, []byte(`{}`) },
		"numbers below 2":           func(h *Hello) { h.Applications[0].Clusters = []int{2} },
		"in ascending order":        func(h *Hello) { h.Applications[0].Clusters = []int{1, 0} },
		"selector matches no":       func(h *Hello) { h.Applications[0].Selector = []byte(`{"matchLabels": {"a": "b"}}`) },
		"application y: selector: ": func(h *Hello) { h.Applications[1].Selector = []byte(`3`) },
	} {
		h := Hello{Targets: []Target{{Name: "a"}, {Name: "b"}},
			Applications: []Application{{Name: "x", Release: one}, {Name: "y", Release: one}}}
		change(&h)
		if _, err := applications(&h); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}
