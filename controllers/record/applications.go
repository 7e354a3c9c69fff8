package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"fleetsim/controllers/cosim"
)

func init() {
	cases["fleet-apps"] = fleetApplications
	cases["argocd-apps"] = argocdApplications
}

// side is a case with several applications on one fleet of n clusters, all to be updated from revision 1 to revision 2
// at time 0. A file holds the strategy of an application with this number.
func side(id, note string, applications, n int, file func(number int) string, changes ...change) Case {
	c := rollout("apps-"+id, note, n, "")
	c.Until = 4 * time.Hour
	c.Hello.Release = cosim.Release{}
	for i := range applications {
		application := cosim.Application{
			Name: fmt.Sprintf("app-%02d", i), Release: cosim.Release{Installed: 1, Revision: 2},
		}
		if text := file(i); text != "" {
			application.Files = map[string]string{"rollout.yaml": text}
		}
		c.Hello.Applications = append(c.Hello.Applications, application)
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// firsts makes the rollouts first deployments.
func firsts(c *Case) {
	for i := range c.Hello.Applications {
		c.Hello.Applications[i].Release.Installed, c.Hello.Applications[i].Release.Revision = 0, 1
	}
}

// staggered publishes one application after the other.
func staggered(every time.Duration) change {
	return func(c *Case) {
		for i := range c.Hello.Applications {
			c.Hello.Applications[i].Release.At = time.Duration(i) * every
		}
	}
}

// behaving lets an application behave differently.
func behaving(application int, behaviour Behaviour) change {
	return func(c *Case) {
		if c.Fleet.Applications == nil {
			c.Fleet.Applications = map[int]Behaviour{}
		}
		c.Fleet.Applications[application] = behaviour
	}
}

// durations gives applications readiness delays of their own, from 5 s to 4 min.
func durations(c *Case) {
	for i := range c.Hello.Applications {
		after := time.Duration(5+(i*47)%236) * second
		behaving(i, Behaviour{Exception: Exception{Ready: &after}})(c)
	}
}

// breaking lets an application fail with revision 2: everywhere, or on every n-th target.
func breaking(application, every int) change {
	return func(c *Case) {
		fails := Exception{Fails: []int{2}}
		if every == 1 {
			behaving(application, Behaviour{Exception: fails})(c)
			return
		}
		behaviour := Behaviour{Targets: map[int]Exception{}}
		for target := every - 1; target < len(c.Hello.Targets); target += every {
			behaviour.Targets[target] = fails
		}
		behaving(application, behaviour)(c)
	}
}

// among gives applications parts of the fleet: all clusters, one ring, two regions, a list of every third cluster, or a
// list of the first or of the second half.
func among(c *Case) {
	regions(c)
	n := len(c.Hello.Targets)
	for i := range c.Hello.Applications {
		application := &c.Hello.Applications[i]
		switch i % 6 {
		case 1:
			application.Selector = json.RawMessage(`{"matchLabels":{"ring":"rest"}}`)
		case 2:
			application.Selector = json.RawMessage(`{"matchExpressions":[{"key":"region","operator":"In","values":["eu","us"]}]}`)
		case 3:
			for target := i % 3; target < n; target += 3 {
				application.Clusters = append(application.Clusters, target)
			}
		case 4:
			for target := range n / 2 {
				application.Clusters = append(application.Clusters, target)
			}
		case 5:
			for target := n / 2; target < n; target++ {
				application.Clusters = append(application.Clusters, target)
			}
		}
	}
}

// again publishes another revision of an application.
func again(at time.Duration, application, revision int) change {
	return script(at, cosim.News{Application: &application, Release: &revision})
}

// held holds an application from one time to another.
func held(application int, from, to time.Duration) change {
	yes, no := true, false
	return func(c *Case) {
		script(from, cosim.News{Application: &application, Stop: &yes})(c)
		script(to, cosim.News{Application: &application, Stop: &no})(c)
	}
}

// settings adds names and values of settings.
func settings(pairs ...string) change {
	return func(c *Case) {
		if c.Hello.Settings == nil {
			c.Hello.Settings = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			c.Hello.Settings[pairs[i]] = pairs[i+1]
		}
	}
}

// anyBundle mixes strategies of Fleet.
func anyBundle(number int) string {
	switch number % 5 {
	case 0:
		return strategy("maxUnavailable: 1")
	case 1:
		return strategy("maxUnavailable: 25%")
	case 2:
		return ringed([3]string{"0%", "10%", "25%"})
	case 3:
		return strategy("maxUnavailable: 100%")
	}
	return strategy("maxUnavailable: 10%", "autoPartitionThreshold: 40")
}

func usualBundle(int) string { return strategy() }

// fleetApplications lists cases of several bundles in one workspace.
func fleetApplications() []Case {
	const ms = time.Millisecond
	watches := latency(5*ms, 100*ms)
	var all []Case
	add := func(id, note string, applications, n int, file func(int) string, changes ...change) {
		all = append(all, side(id, note, applications, n, file, changes...))
	}
	add("1x20-first", "the first deployment of one bundle, to compare", 1, 20, usualBundle, firsts)
	add("1x50-first", "the first deployment of one bundle, to compare", 1, 50, usualBundle, firsts)
	add("5x20", "strategies of all kinds", 5, 20, anyBundle)
	add("5x20-first", "first deployments", 5, 20, anyBundle, firsts)
	add("10x50", "strategies of all kinds", 10, 50, anyBundle)
	add("10x50-seconds", "one after the other, every 7 s", 10, 50, anyBundle, staggered(7*second))
	add("10x50-minutes", "one after the other, every 2 min", 10, 50, anyBundle, staggered(2*minute))
	add("10x50-durations", "each bundle has a time to readiness of its own, released every 10 s", 10, 50, anyBundle,
		durations, staggered(10*second))
	add("10x50-failing", "one bundle fails everywhere and one on every 10th cluster", 10, 50, anyBundle, breaking(3, 1),
		breaking(6, 10), until(40*minute))
	add("10x50-offline", "every 10th cluster is offline and returns after 4 min, every 7th is cut off from 45 s to 3 min",
		10, 50, anyBundle, cut(10, 0, 4*minute), cut(7, 45*second, 3*minute))
	add("10x50-selected", "bundles on parts of the fleet, which overlap or do not", 10, 50, usualBundle, among)
	add("10x50-watch", "watches of 100 ms", 10, 50, anyBundle, watches)
	add("10x50-watch-first", "first deployments, watches of 100 ms", 10, 50, usualBundle, watches, firsts)
	add("10x50-changes", "a bundle is replaced, one goes back, one is paused", 10, 50, anyBundle, again(minute, 1, 3),
		again(90*second, 5, 1), held(6, minute, 4*minute), staggered(3*second))
	add("10x50-workers", "two workers of each kind in an agent, applies of 3 s", 10, 50, usualBundle, apply(3*second),
		settings("agent.BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "2", "agent.DRIFT_RECONCILER_WORKERS", "2"))
	add("10x50-hub", "two workers of each kind in the hub", 10, 50, usualBundle, settings("BUNDLE_RECONCILER_WORKERS", "2",
		"BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "2", "CLUSTER_RECONCILER_WORKERS", "2"))
	add("50x20", "strategies of all kinds", 50, 20, anyBundle)
	add("50x20-first", "first deployments", 50, 20, usualBundle, firsts)
	add("50x20-first-open", "first deployments, agents without a client limit", 50, 20, usualBundle, firsts,
		settings("agent.clientQps", "0"))
	add("50x20-seconds", "one after the other, every 2 s, each with its own time to readiness", 50, 20, anyBundle,
		staggered(2*second), durations)
	add("50x50-first", "first deployments", 50, 50, usualBundle, firsts)
	add("25x100", "strategies of all kinds", 25, 100, anyBundle)
	return all
}

// anySet mixes ApplicationSets of Argo CD.
func anySet(number int) string {
	switch number % 5 {
	case 0:
		return inSet(number, together("1"))
	case 1:
		return inSet(number, together("25%"))
	case 2:
		return inSet(number, rounds("50%"))
	case 3:
		return inSet(number, together("100%"))
	}
	return ""
}

// usualSet is a set in three steps.
func usualSet(number int) string { return inSet(number, rounds("25%")) }

// automatic is a set whose Applications sync by themselves.
func automatic(int) string { return "" }

// inSet gives the Applications of a set names of their own.
func inSet(number int, file string) string {
	return strings.Replace(file, "'{{name}}'", fmt.Sprintf("'app-%02d-{{name}}'", number), 1)
}

// argocdApplications lists cases of several ApplicationSets in one Argo CD.
func argocdApplications() []Case {
	const ms = time.Millisecond
	processors := func(status, operation string) change {
		return settings("ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS", status,
			"ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS", operation)
	}
	slowly := func(takes time.Duration) change {
		return func(c *Case) {
			latency(5*ms, 100*ms)(c)
			settings("applicationController.comparison", takes.String())(c)
		}
	}
	var all []Case
	add := func(id, note string, applications, n int, file func(int) string, changes ...change) {
		all = append(all, side(id, note, applications, n, file, changes...))
	}
	add("1x20-automated", "one set, to compare", 1, 20, automatic)
	add("1x20-steps", "one set in three steps, to compare", 1, 20, usualSet)
	add("5x20", "strategies of all kinds", 5, 20, anySet)
	add("5x20-first", "first deployments", 5, 20, anySet, firsts)
	add("10x50", "strategies of all kinds", 10, 50, anySet)
	add("10x50-first", "first deployments in steps", 10, 50, usualSet, firsts)
	add("10x50-seconds", "one after the other, every 7 s", 10, 50, anySet, staggered(7*second))
	add("10x50-minutes", "one after the other, every 2 min", 10, 50, anySet, staggered(2*minute))
	add("10x50-durations", "each set has a time to readiness of its own, released every 10 s", 10, 50, anySet, durations,
		staggered(10*second))
	add("10x50-failing", "one set fails everywhere and one on every 10th cluster", 10, 50, anySet, breaking(3, 1),
		breaking(6, 10), until(30*minute))
	add("10x50-offline", "every 10th cluster is offline and returns after 4 min, every 7th is cut off from 45 s to 3 min",
		10, 50, anySet, cut(10, 0, 4*minute), cut(7, 45*second, 3*minute), until(time.Hour))
	add("10x50-selected", "sets on parts of the fleet, which overlap or do not", 10, 50, usualSet, among)
	add("10x50-watch", "watches of 100 ms", 10, 50, anySet, latency(5*ms, 100*ms))
	add("10x50-processors", "comparisons of 200 ms, 20 status and 10 operation processors", 10, 50, usualSet,
		slowly(200*ms), processors("20", "10"))
	add("10x50-few-processors", "comparisons of 200 ms, 4 status and 2 operation processors", 10, 50, automatic,
		slowly(200*ms), processors("4", "2"))
	add("10x50-changes", "a set is replaced, one goes back, one is held", 10, 50, anySet, again(minute, 1, 3),
		again(90*second, 5, 1), held(6, minute, 4*minute), staggered(3*second))
	add("10x50-updates", "20 concurrent updates of Applications", 10, 50, automatic,
		settings("ARGOCD_APPLICATIONSET_CONTROLLER_CONCURRENT_APPLICATION_UPDATES", "20"))
	add("10x50-open", "no client limit", 10, 50, automatic, func(c *Case) { c.Hello.Client = &cosim.Client{} })
	add("50x20", "strategies of all kinds", 50, 20, anySet)
	add("50x20-automated", "automated sync", 50, 20, automatic)
	add("50x20-processors", "automated sync, comparisons of 100 ms, the default processors, syncs share a client and a CPU",
		50, 20, automatic, slowly(100*ms), processors("20", "10"), settings("applicationController.requestsPerSync", "12",
			"applicationController.clientQps", "50", "applicationController.clientBurst", "100",
			"applicationController.syncsPerSecond", "15"))
	add("25x100", "strategies of all kinds", 25, 100, anySet)
	return all
}
