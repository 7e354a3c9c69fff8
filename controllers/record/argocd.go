package main

import (
	"fmt"
	"strings"
	"time"

	"fleetsim/controllers/cosim"
)

func init() { cases["argocd"] = argocd }

// step is a step of a RollingSync: its rings, and maxUpdate; "" means the field is absent.
type step struct{ rings, maxUpdate string }

// rollingSync is an ApplicationSet with steps; spec holds further lines of the template's spec.
func rollingSync(spec string, steps ...step) string {
	lines := []string{"apiVersion: argoproj.io/v1alpha1", "kind: ApplicationSet", "metadata: {name: app, namespace: argocd}",
		"spec:", "  generators:", "  - clusters: {}"}
	if len(steps) > 0 {
		lines = append(lines, "  strategy:", "    type: RollingSync", "    rollingSync:", "      steps:")
	}
	for _, s := range steps {
		lines = append(lines, "      - matchExpressions: [{key: ring, operator: In, values: ["+s.rings+"]}]")
		if s.maxUpdate != "" {
			lines = append(lines, "        maxUpdate: "+s.maxUpdate)
		}
	}
	lines = append(lines, "  template:", "    metadata: {name: '{{name}}'}", "    spec:", "      project: default",
		"      source: {repoURL: https://git.example.com/app.git, path: deploy}",
		"      destination: {server: '{{server}}', namespace: default}")
	if spec != "" {
		lines = append(lines, "      "+spec)
	}
	return strings.Join(lines, "\n") + "\n"
}

// rounds is a RollingSync over the three rings, with a limit for the last two.
func rounds(maxUpdate string) string {
	return rollingSync("", step{"canary", ""}, step{"early", maxUpdate}, step{"rest", maxUpdate})
}

// together is a RollingSync of one step.
func together(maxUpdate string) string {
	return rollingSync("", step{"canary, early, rest", maxUpdate})
}

// says lets a target's cluster report a failure, or clear it with "".
func says(at time.Duration, target int, reason string) change {
	return script(at, cosim.News{Target: &target, Failing: &reason})
}

func setting(name, value string) change {
	return func(c *Case) { c.Hello.Settings = map[string]string{name: value} }
}

// named renames targets, so that the order of names differs from the order of rings.
func named(number func(target, n int) int) change {
	return func(c *Case) {
		for i := range c.Hello.Targets {
			c.Hello.Targets[i].Name = fmt.Sprintf("cluster-%04d", number(i, len(c.Hello.Targets)))
		}
	}
}

func canaryLast(target, n int) int { return (target + n - max(1, n/20)) % n }

func reversed(target, n int) int { return n - 1 - target }

func shuffled(target, n int) int { return (target*23 + 5) % n }

// comparing lets comparisons take time, with a watch delay of many requests; the other arguments are names and values
// of settings.
func comparing(takes time.Duration, settings ...string) change {
	return func(c *Case) {
		latency(5*time.Millisecond, 100*time.Millisecond)(c)
		c.Hello.Settings = map[string]string{"applicationController.comparison": takes.String()}
		for i := 0; i < len(settings); i += 2 {
			c.Hello.Settings[settings[i]] = settings[i+1]
		}
	}
}

func argocd() []Case {
	all := append(append(argocdAtOnce(), argocdSteps()...), append(argocdTroubles(), argocdOffline()...)...)
	return append(append(append(all, argocdMixtures()...), argocdNames()...), argocdReleases()...)
}

func argocdAtOnce() []Case {
	var all []Case
	add := func(id, note string, n int, changes ...change) {
		all = append(all, rollout("once-"+id, note, n, "", append([]change{until(2 * time.Hour)}, changes...)...))
	}
	for _, n := range []int{20, 100, 300, 1000} {
		add(fmt.Sprint("first-", n), "first deployment, automated sync", n, first)
		add(fmt.Sprint("update-", n), "update, automated sync", n)
	}
	add("update-50-slow", "update, ready after 5 min", 50, ready(5*minute))
	add("update-40-spread", "update, ready after 10 s to 10 min", 40, spread(10*second, 10*minute))
	add("update-40-failing", "every 10th cluster never gets ready", 40, failing(10, 2))
	add("update-40-offline", "every 10th cluster is offline and returns after 3 min", 40, cut(10, 0, 3*minute))
	add("update-40-release", "another release after 10 s", 40, release(10*second, 3))
	add("update-60-qps", "a client limit of 5 requests a second", 60, setting("ARGOCD_K8S_CLIENT_QPS", "5"))
	add("update-60-updates", "20 concurrent updates of Applications", 60,
		setting("ARGOCD_APPLICATIONSET_CONTROLLER_CONCURRENT_APPLICATION_UPDATES", "20"))
	add("unselected-20", "a cluster is removed after 15 s and is back after 60 s", 20, selected(15*second, 7, false),
		selected(60*second, 7, true))
	return all
}

func argocdSteps() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout("steps-"+id, note, n, file, append([]change{until(4 * time.Hour)}, changes...)...))
	}
	for _, n := range []int{20, 60, 100} {
		add(fmt.Sprint("first-", n), "first deployment in three steps", n, rounds("50%"), first)
		add(fmt.Sprint("update-", n), "update in three steps", n, rounds("50%"))
	}
	add("update-300", "update of 300 in three steps", 300, rounds("25%"))
	add("large-1000", "update of 1,000 in three steps", 1000, rounds("50%"))
	for _, limit := range []string{"1", "3", "10%", "25%", "100%"} {
		add("update-20-max-"+strings.TrimSuffix(limit, "%"), "one step, maxUpdate "+limit, 20, together(limit))
	}
	add("update-60-max-5", "one step, maxUpdate 5", 60, together("5"))
	add("update-40-unlimited", "one step without a limit", 40, together(""))
	add("first-40-unlimited", "first deployment, one step without a limit", 40, together(""), first)
	add("first-20-one", "first deployment, one by one", 20, together("1"), first)
	add("update-20-none", "maxUpdate 0 never syncs", 20, together("0"), until(10*minute))
	add("update-40-quick", "ready at once", 40, rounds("50%"), ready(0))
	add("update-40-minute", "ready after 1 min", 40, rounds("50%"), ready(minute))
	add("update-40-slow", "ready after 10 min", 40, rounds("50%"), ready(10*minute))
	add("update-60-spread", "ready after 10 s to 10 min", 60, rounds("25%"), spread(10*second, 10*minute))
	add("first-40-spread", "first deployment, ready after 10 s to 10 min", 40, rounds("25%"), first,
		spread(10*second, 10*minute))
	add("update-40-automated", "steps over a template with automated sync", 40,
		rollingSync("syncPolicy: {automated: {}}", step{"canary", ""}, step{"early", "50%"}, step{"rest", "50%"}))
	add("update-40-unselected", "no step selects the rest", 40, rollingSync("", step{"canary", ""}, step{"early", "50%"}),
		until(10*minute))
	add("update-40-empty", "a step without clusters", 40, rollingSync("", step{"canary", ""}, step{"nothing", "1"},
		step{"early, rest", "25%"}))
	add("update-40-duplicate", "two steps select the early ring", 40, rollingSync("", step{"canary, early", "5"},
		step{"early, rest", "25%"}))
	add("update-40-latency-1", "requests of 1 ms", 40, rounds("25%"), latency(time.Millisecond, time.Millisecond))
	add("update-40-latency-20", "requests of 20 ms, watches of 50 ms", 40, rounds("25%"),
		latency(20*time.Millisecond, 50*time.Millisecond))
	add("update-40-latency-10", "requests of 10 ms, watches of 2 ms", 40, rounds("25%"),
		latency(10*time.Millisecond, 2*time.Millisecond))
	add("update-60-qps", "a client limit of 5 requests a second", 60, rounds("50%"), setting("ARGOCD_K8S_CLIENT_QPS", "5"))
	return all
}

func argocdTroubles() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout("steps-"+id, note, n, file, append([]change{until(time.Hour)}, changes...)...))
	}
	add("slow-40", "every 10th cluster is ready after 20 min", 40, rounds("25%"), slow(10, 20*minute))
	add("slow-20-careful", "every 5th cluster is ready after 20 min, one by one", 20, together("1"), slow(5, 10*minute))
	add("failing-40", "every 10th cluster never gets ready: the rollout stalls", 40, rounds("25%"), failing(10, 2))
	add("failing-40-canary", "no cluster gets ready: the first step stalls", 40, rounds("25%"), failing(1, 2))
	add("failing-40-careful", "every 20th cluster never gets ready, maxUpdate 3", 40, together("3"), failing(20, 2))
	add("failing-20-budget", "every 4th cluster never gets ready, maxUpdate 2: the budget is used up", 20, together("2"),
		failing(4, 2))
	add("failing-40-fixed", "every 4th cluster never gets ready; the next release, after 5 min, is good", 40, rounds("25%"),
		failing(4, 2), release(5*minute, 3))
	add("degraded-20", "a cluster is degraded from 10 s to 5 min", 20, rounds("50%"), says(10*second, 0, "no progress"),
		says(5*minute, 0, ""))
	add("degraded-20-late", "a cluster that was healthy is degraded: the rollout goes on", 20, rounds("25%"),
		says(30*second, 0, "crash loop"))
	add("release-40", "another release after 15 s", 40, rounds("25%"), release(15*second, 3))
	add("release-60", "other releases after 1 and 3 min, slow clusters", 60, rounds("25%"), spread(20*second, 2*minute),
		release(minute, 3), release(3*minute, 4))
	add("release-20-back", "back to the first revision after 30 s", 20, rounds("25%"), release(30*second, 1))
	add("pause-40", "held by maxUpdate 0 after 25 s, goes on after 10 min", 40, rounds("25%"), stop(25*second, 10*minute))
	add("pause-40-for-good", "held by maxUpdate 0 after 25 s", 40, rounds("25%"), stop(25*second, 0), until(20*minute))
	add("pause-20-twice", "held twice", 20, together("2"), stop(25*second, minute), stop(2*minute, 5*minute))
	add("pause-40-first", "first deployment, held after 25 s for 5 min", 40, rounds("25%"), first, stop(25*second, 5*minute))
	add("unselected-20", "a cluster is removed after 30 s", 20, rounds("25%"), selected(30*second, 19, false))
	add("selected-20", "a cluster is removed after 30 s and is back after 2 min", 20, rounds("25%"),
		selected(30*second, 3, false), selected(2*minute, 3, true))
	add("relabelled-20", "a cluster moves to the first step after 30 s", 20, rounds("25%"),
		labels(30*second, 19, map[string]string{"ring": "canary", "order": "1"}))
	return all
}

func argocdOffline() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout("steps-offline-"+id, note, n, file, append([]change{until(time.Hour)}, changes...)...))
	}
	forever := rollingSync("syncPolicy: {retry: {limit: -1}}", step{"canary", ""}, step{"early", "50%"}, step{"rest", "50%"})
	add("40", "every 10th cluster is offline throughout", 40, rounds("50%"), cut(10, 0, 0))
	add("40-soon", "every 10th cluster is offline and returns after 2 min", 40, rounds("50%"), cut(10, 0, 2*minute))
	add("40-late", "every 10th cluster is offline and returns after 15 min: its operation has failed", 40, rounds("50%"),
		cut(10, 0, 15*minute))
	add("40-forever", "the same with a retry without limit", 40, forever, cut(10, 0, 15*minute))
	add("40-leaves", "every 5th cluster is cut off from 30 s to 5 min", 40, rounds("25%"), cut(5, 30*second, 5*minute))
	add("20-careful", "every 5th cluster is offline and returns after 3 min, one by one", 20, together("1"),
		cut(5, 0, 3*minute))
	add("20-first", "first deployment, every 5th cluster is offline and returns after 2 min", 20, rounds("50%"), first,
		cut(5, 0, 2*minute))
	add("20-no-retry", "no retry: the operation fails at the first timeout", 20,
		rollingSync("syncPolicy: {retry: {limit: 0}}", step{"canary", ""}, step{"early, rest", "50%"}), cut(5, 0, 10*minute))
	return all
}

// argocdMixtures returns cases that were written without knowledge of the native rules, to test them.
func argocdMixtures() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout(id, note, n, file, append([]change{until(2 * time.Hour)}, changes...)...))
	}
	rings := []step{{"canary", ""}, {"early", "50%"}, {"rest", "50%"}}
	add("once-update-250-release", "another release while the specs of the first are written", 250, "", release(3*second, 3))
	add("once-offline-35-retry", "two retries with waits of their own; every 5th cluster is offline for 5 min", 35,
		rollingSync("syncPolicy: {automated: {prune: true, selfHeal: true}, "+
			"retry: {limit: 2, backoff: {duration: 10s, factor: 3, maxDuration: 1m}}}"), cut(5, 0, 5*minute))
	labelled := strings.NewReplacer("{name: '{{name}}'}", "{name: 'shop-{{.name}}', labels: {stage: '{{.metadata.labels.ring}}'}}",
		"key: ring", "key: stage", "{{server}}", "{{.server}}", "spec:\n  generators:", "spec:\n  goTemplate: true\n  generators:")
	add("steps-template-35", "steps by a label of the template, in Go's notation", 35, labelled.Replace(rollingSync("", rings...)))
	add("steps-list-7", "a list generator", 7, strings.NewReplacer("clusters: {}", "list: {elements: ["+
		"{name: cluster-0000, ring: canary}, {name: cluster-0001, ring: rest}, {name: cluster-0002, ring: rest}, "+
		"{name: cluster-0003, ring: rest}, {name: cluster-0004, ring: rest}, {name: cluster-0005, ring: rest}, "+
		"{name: cluster-0006, ring: rest}]}", "{name: '{{name}}'}", "{name: '{{name}}', labels: {ring: '{{ring}}', order: all}}",
		"server: '{{server}}'", "name: '{{name}}'").Replace(rollingSync("", rings...)), func(c *Case) {
		for i := 1; i < len(c.Hello.Targets); i++ {
			c.Hello.Targets[i].Labels["ring"] = "rest"
		}
	})
	add("steps-pause-75-release", "another release while the set is held", 75, rounds("25%"), stop(50*second, 4*minute),
		release(2*minute, 3))
	add("steps-offline-35-timeout", "connections time out after 5 s", 35, rollingSync("", rings...),
		setting("ARGOCD_K8S_TCP_TIMEOUT", "5s"), cut(5, 0, 4*minute), until(30*minute))
	add("steps-release-35-twice", "two releases 0.3 s apart, after one within the first second", 35, rounds("25%"),
		release(500*time.Millisecond, 3), release(40*second, 4), release(40*second+300*time.Millisecond, 5))
	add("steps-combined-120", "failures, cut clusters, slow ones, a stop and another release", 120,
		rollingSync("syncPolicy: {automated: {}, retry: {limit: 10}}", step{"canary", "2"}, step{"early", "40%"}, step{"rest", "20%"}),
		cut(13, 25*second, 4*minute), failing(29, 2), slow(9, 2*minute), stop(3*minute, 6*minute), release(8*minute, 3))
	return all
}

// argocdNames returns cases in which comparisons take time and watches are slower than five tries of a write: the
// set's view of its Applications depends on the order of their writes.
func argocdNames() []Case {
	var all []Case
	add := func(id, note string, n int, changes ...change) {
		all = append(all, rollout("names-"+id, note, n, rounds("25%"), append([]change{until(2 * time.Hour)}, changes...)...))
	}
	const ms = time.Millisecond
	processors := func(status, operation string) []string {
		return []string{"ARGOCD_APPLICATION_CONTROLLER_STATUS_PROCESSORS", status,
			"ARGOCD_APPLICATION_CONTROLLER_OPERATION_PROCESSORS", operation}
	}
	usual := processors("20", "10")
	add("sorted-60", "rings in the order of names", 60, comparing(200*ms))
	add("sorted-100", "rings in the order of names", 100, comparing(200*ms, usual...))
	add("last-33", "the canary has the last name", 33, named(canaryLast), comparing(200*ms, usual...))
	add("last-40-failing", "the canary has the last names, every 10th cluster never gets ready", 40, named(canaryLast),
		comparing(100*ms), failing(10, 2), until(20*time.Minute))
	add("last-200", "the canary has the last names", 200, named(canaryLast), comparing(100*ms, usual...))
	add("reversed-30-first", "first deployment, rings in reverse order", 30, named(reversed), comparing(300*ms), first)
	add("reversed-60", "rings in reverse order", 60, named(reversed), comparing(200*ms, usual...))
	add("reversed-120-syncs", "rings in reverse order, syncs share a client and a CPU", 120, named(reversed),
		comparing(100*ms, append(usual, "applicationController.requestsPerSync", "12", "applicationController.clientQps", "50",
			"applicationController.clientBurst", "100", "applicationController.syncsPerSecond", "15")...))
	add("random-60", "rings at random", 60, named(shuffled), comparing(50*ms))
	add("random-60-processors", "rings at random, few processors", 60, named(shuffled),
		comparing(200*ms, processors("8", "3")...))
	add("random-40-release", "rings at random, another release after 30 s", 40, named(shuffled), comparing(200*ms),
		release(30*second, 3))
	add("random-100", "rings at random, ready after 10 s to 2 min", 100, named(shuffled), comparing(300*ms, usual...),
		spread(10*second, 2*minute))
	return all
}
