package main

import (
	"fmt"
	"time"

	"fleetsim/controllers/cosim"
)

// cases lists the cases of each product.
var cases = map[string]func() []Case{"kubefleet": kubefleet}

// A change adapts a case.
type change func(*Case)

// rollout is a case with a fleet of n targets to be updated from revision 1 to revision 2.
func rollout(id, note string, n int, file string, changes ...change) Case {
	c := Case{ID: id, Note: note, Until: 12 * time.Hour, Fleet: Fleet{Apply: 100 * time.Millisecond, Ready: 20 * time.Second}}
	c.Hello = cosim.Hello{Protocol: 1, Run: id, Seed: 1, Release: cosim.Release{Name: "app", Installed: 1, Revision: 2}}
	if file != "" {
		c.Hello.Files = map[string]string{"rollout.yaml": file}
	}
	for i := range n {
		ring := "rest"
		if i < max(1, n/20) {
			ring = "canary"
		} else if i < n/4 {
			ring = "early"
		}
		c.Hello.Targets = append(c.Hello.Targets, cosim.Target{
			Name:   fmt.Sprintf("cluster-%04d", i),
			Labels: map[string]string{"ring": ring, "order": fmt.Sprint((i * 7) % n)},
		})
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func first(c *Case) { c.Hello.Release.Installed, c.Hello.Release.Revision = 0, 1 }

func ready(after time.Duration) change { return func(c *Case) { c.Fleet.Ready = after } }

func until(end time.Duration) change { return func(c *Case) { c.Until = end } }

func (c *Case) exception(target int) Exception {
	if c.Fleet.Targets == nil {
		c.Fleet.Targets = map[int]Exception{}
	}
	return c.Fleet.Targets[target]
}

// spread gives each target its own readiness delay between low and high.
func spread(low, high time.Duration) change {
	return func(c *Case) {
		for i := range c.Hello.Targets {
			after := low + time.Duration(i*7919%997)*((high-low)/997).Truncate(time.Millisecond)
			e := c.exception(i)
			e.Ready = &after
			c.Fleet.Targets[i] = e
		}
	}
}

// slow gives every n-th target another readiness delay.
func slow(every int, after time.Duration) change {
	return func(c *Case) {
		for i := every - 1; i < len(c.Hello.Targets); i += every {
			e := c.exception(i)
			e.Ready = &after
			c.Fleet.Targets[i] = e
		}
	}
}

// failing lets every n-th target fail with a revision.
func failing(every, revision int) change {
	return func(c *Case) {
		for i := every - 1; i < len(c.Hello.Targets); i += every {
			e := c.exception(i)
			e.Fails = append(e.Fails, revision)
			c.Fleet.Targets[i] = e
		}
	}
}

// cut takes every n-th target offline for an interval; from may be 0 (offline from the start), and to may be 0 (never
// back).
func cut(every int, from, to time.Duration) change {
	return func(c *Case) {
		for i := every - 1; i < len(c.Hello.Targets); i += every {
			if from == 0 {
				c.Hello.Targets[i].Offline = true
			} else {
				yes := true
				script(from, cosim.News{Target: &i, Offline: &yes})(c)
			}
			if to > 0 {
				no := false
				script(to, cosim.News{Target: &i, Offline: &no})(c)
			}
		}
	}
}

// script adds a piece of news.
func script(at time.Duration, news cosim.News) change {
	return func(c *Case) {
		news.At = &at
		c.Script = append(c.Script, news)
	}
}

func release(at time.Duration, revision int) change {
	return script(at, cosim.News{Release: &revision})
}

func approve(at time.Duration, stage, when string) change {
	return script(at, cosim.News{Approve: &cosim.Approval{Stage: stage, When: when}})
}

func stop(at, resume time.Duration) change {
	yes, no := true, false
	return func(c *Case) {
		script(at, cosim.News{Stop: &yes})(c)
		if resume > 0 {
			script(resume, cosim.News{Stop: &no})(c)
		}
	}
}

func selected(at time.Duration, target int, chosen bool) change {
	return script(at, cosim.News{Target: &target, Selected: &chosen})
}

func labels(at time.Duration, target int, labels map[string]string) change {
	return script(at, cosim.News{Target: &target, Labels: &labels})
}

// latency sets the latency of requests and watches. Nothing is drawn, because the replay could not know the values.
func latency(request, watch time.Duration) change {
	return func(c *Case) { c.Hello.Latency = cosim.Latency{Request: &request, Watch: &watch} }
}

// apply sets the time from an instruction until its revision is applied.
func apply(after time.Duration) change { return func(c *Case) { c.Fleet.Apply = after } }

// file adds a file of the strategy.
func file(name, content string) change { return func(c *Case) { c.Hello.Files[name] = content } }

// revisions lets targets run different revisions at time 0.
func revisions(installed, newest int, of func(target int) int) change {
	return func(c *Case) {
		for i := range c.Hello.Targets {
			revision := of(i)
			c.Hello.Targets[i].Revision = &revision
		}
		c.Hello.Release = cosim.Release{Name: "app", Installed: installed, Revision: newest}
	}
}

// regions gives all targets a region, and four of five a tier.
func regions(c *Case) {
	for i := range c.Hello.Targets {
		labels := c.Hello.Targets[i].Labels
		labels["region"] = []string{"eu", "us", "ap", "sa"}[i%4]
		if i%5 != 0 {
			labels["tier"] = []string{"gold", "silver", "bronze"}[i%3]
		}
	}
}

func resume() cosim.News {
	no := false
	return cosim.News{Stop: &no}
}
