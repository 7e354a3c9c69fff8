package main

import (
	"fmt"
	"strings"
	"time"

	"fleetsim/controllers/cosim"
)

func init() { cases["fleet"] = fleet }

// strategy is a fleet.yaml with these lines in its rolloutStrategy.
func strategy(lines ...string) string {
	if len(lines) == 0 {
		return "defaultNamespace: shop\n"
	}
	return "defaultNamespace: shop\nrolloutStrategy:\n  " + strings.Join(lines, "\n  ") + "\n"
}

// partition is one line of manual partitions: one ring of clusters.
func partition(ring, limit string) string {
	if limit != "" {
		limit = ", maxUnavailable: " + limit
	}
	return fmt.Sprintf("- {name: %s, clusterSelector: {matchLabels: {ring: %s}}%s}", ring, ring, limit)
}

// ringed partitions: canary, early and rest.
func ringed(limits [3]string, lines ...string) string {
	return strategy(append(lines, "partitions:", partition("canary", limits[0]), partition("early", limits[1]),
		partition("rest", limits[2]))...)
}

// fleet lists rollouts of Rancher Fleet.
func fleet() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout(id, note, n, file, append([]change{until(2 * time.Hour)}, changes...)...))
	}
	fleetFirst(add)
	fleetUpdates(add)
	fleetTroubles(add)
	fleetChanges(add)
	fleetMixtures(add)
	fleetCaches(add)
	fleetReleases(add)
	return all
}

type adder func(id, note string, n int, file string, changes ...change)

// fleetFirst adds cases in which nothing is installed.
func fleetFirst(add adder) {
	careful := strategy("maxUnavailable: 10%", "autoPartitionThreshold: 40", "autoPartitionSize: 25%")
	for _, n := range []int{20, 50, 120, 250} {
		add(fmt.Sprint("first-", n), "a first deployment with defaults", n, strategy(), first)
	}
	add("first-1000", "a first deployment with defaults", 1000, strategy(), first)
	add("first-100-careful", "four partitions, 10 % in each", 100, careful, first)
	add("first-100-careful-spread", "the same with readiness from 5 s to 5 min", 100, careful, first,
		spread(5*time.Second, 5*time.Minute))
	add("first-60-maxnew-10", "10 new deployments in a pass", 60, strategy("maxNew: 10"), first)
	add("first-60-maxnew-0", "no new deployment, ever", 60, strategy("maxNew: 0"), first, until(10*time.Minute))
	add("first-100-rings", "manual partitions", 100, ringed([3]string{"0", "0", ""}), first)
	add("first-100-rings-slow", "every 10th cluster is ready after 20 min", 100, ringed([3]string{"0", "1", "5%"}), first,
		slow(10, 20*time.Minute))
	add("first-100-failing", "every 20th cluster fails", 100, careful, first, failing(20, 1))
	add("first-100-offline", "every 10th cluster is offline and returns after 15 min", 100, careful, first,
		cut(10, 0, 15*time.Minute))
	add("first-60-fast", "ready in 1 s: before the watch of the agent starts", 60, careful, first, ready(time.Second))
	add("first-60-seven", "ready in 7 s", 60, careful, first, ready(7*time.Second))
}

// fleetUpdates adds cases of settings and sizes, in a fleet that works.
func fleetUpdates(add adder) {
	for _, n := range []int{20, 50, 120, 250} {
		add(fmt.Sprint("update-", n), "an update with defaults", n, strategy())
	}
	add("update-1000", "an update with defaults", 1000, strategy())
	add("update-1000-25pct", "25 % at a time", 1000, strategy("maxUnavailable: 25%"), ready(5*time.Minute))
	for _, limit := range []string{"1", "5", "10%", "25%", "0%", `"7"`} {
		add("update-60-"+strings.Trim(strings.ReplaceAll(limit, "%", "pct"), `"`), "maxUnavailable: "+limit, 60,
			strategy("maxUnavailable: "+limit))
	}
	add("update-60-0", "maxUnavailable 0 stands still", 60, strategy("maxUnavailable: 0"), until(10*time.Minute))
	add("update-60-bad", "maxUnavailable is no number", 60, strategy("maxUnavailable: many"), until(10*time.Minute))
	add("update-200-auto", "automatic partitions from 200 clusters on", 200, strategy("maxUnavailable: 10%"))
	add("update-200-auto-10pct", "ten automatic partitions, one may be unavailable", 200,
		strategy("maxUnavailable: 20%", "autoPartitionSize: 10%", "maxUnavailablePartitions: 1"))
	add("update-200-no-auto", "automatic partitions switched off", 200,
		strategy("maxUnavailable: 10%", "autoPartitionThreshold: 0"))
	add("update-100-auto-7", "partitions of 7", 100,
		strategy("maxUnavailable: 50%", "autoPartitionThreshold: 1", "autoPartitionSize: 7"))
	for _, seconds := range []int{1, 4, 6, 61} {
		add(fmt.Sprintf("update-60-ready-%ds", seconds), "another time to readiness", 60, strategy("maxUnavailable: 10%"),
			ready(time.Duration(seconds)*time.Second))
	}
	add("update-60-spread", "readiness from 5 s to 5 min", 60, strategy("maxUnavailable: 10%"),
		spread(5*time.Second, 5*time.Minute))
	add("update-120-spread", "readiness from 5 s to 5 min, 25 %", 120, strategy("maxUnavailable: 25%"),
		spread(5*time.Second, 5*time.Minute))
	add("update-100-rings", "manual partitions", 100, ringed([3]string{"0%", "10%", "25%"}))
	add("update-100-rings-capped", "the bundle's limit caps that of the partitions", 100,
		ringed([3]string{"", "100%", "100%"}, "maxUnavailable: 2"))
	add("update-100-rings-open", "one partition may be unavailable", 100,
		ringed([3]string{"1", "1", "10%"}, "maxUnavailablePartitions: 1"))
	add("update-60-no-rest", "clusters in no partition keep what they have", 60,
		strategy("partitions:", partition("canary", ""), partition("early", "2")), until(20*time.Minute))
	add("update-60-overlap", "a cluster in two partitions", 60, strategy("partitions:", partition("early", "2"),
		"- {name: one, clusterName: cluster-0005}", "- {name: all, clusterSelector: {}, maxUnavailable: 10%}"))
	values := "helm: {values: {replicas: 3}}\n" + strategy("maxUnavailable: 10%")
	add("update-60-values", "with Helm values: a Secret for each target", 60, values)
	add("first-60-values", "with Helm values: a Secret for each target", 60, values, first)
	add("update-60-latency-20ms", "20 ms a request", 60, strategy("maxUnavailable: 10%"),
		latency(20*time.Millisecond, 10*time.Millisecond))
	add("update-60-latency-1ms", "1 ms a request, watches of 20 ms", 60, strategy("maxUnavailable: 10%"),
		latency(time.Millisecond, 20*time.Millisecond))
}

// fleetTroubles adds cases of slow, failing, offline and returning clusters.
func fleetTroubles(add adder) {
	tenth := strategy("maxUnavailable: 10%")
	add("slow-60", "every 6th cluster takes 20 min", 60, tenth, slow(6, 20*time.Minute))
	add("slow-200", "every 25th cluster takes 30 min", 200, tenth, slow(25, 30*time.Minute))
	add("slow-100-rings", "every 10th cluster takes 20 min", 100, ringed([3]string{"0", "10%", "25%"}),
		slow(10, 20*time.Minute), until(3*time.Hour))
	add("failing-60-some", "fewer fail than may be unavailable", 60, tenth, failing(20, 2), until(time.Hour))
	add("failing-60-stalls", "as many fail as may be unavailable", 60, tenth, failing(5, 2), until(time.Hour))
	add("failing-100-gate", "a failing cluster closes the gate", 100, ringed([3]string{"0%", "2", "25%"}), failing(8, 2),
		until(time.Hour))
	add("failing-200-auto", "failures in automatic partitions", 200, tenth, failing(15, 2), until(time.Hour))
	add("offline-60", "every 10th cluster is offline throughout", 60, tenth, cut(10, 0, 0), until(time.Hour))
	add("offline-60-returns", "every 6th cluster is offline and returns after 15 min", 60, tenth,
		cut(6, 0, 15*time.Minute))
	add("offline-60-leaves", "every 5th cluster is cut off from 30 s to 10 min", 60, tenth,
		cut(5, 30*time.Second, 10*time.Minute))
	add("offline-100-rings", "every 25th cluster is offline and returns after 15 min", 100,
		ringed([3]string{"0%", "0%", "10%"}), cut(25, 0, 15*time.Minute))
	add("offline-120-default", "every 10th cluster is offline and returns after 5 min", 120, strategy(),
		cut(10, 0, 5*time.Minute))
}

// fleetChanges adds cases in which people and clusters change something in the middle of a rollout.
func fleetChanges(add adder) {
	tenth := strategy("maxUnavailable: 10%")
	add("pause-60", "paused from 1 to 10 min", 60, tenth, stop(time.Minute, 10*time.Minute))
	add("pause-60-twice", "paused twice", 60, tenth, stop(30*time.Second, 2*time.Minute), stop(4*time.Minute, 6*time.Minute))
	add("pause-60-for-good", "paused and not resumed", 60, tenth, stop(time.Minute, 0), until(20*time.Minute))
	add("pause-100-first", "a first deployment is paused", 100, ringed([3]string{"0", "0", ""}), first,
		stop(15*time.Second, 5*time.Minute))
	add("release-60", "another release after 1 min", 60, tenth, release(time.Minute, 3))
	add("release-60-fix", "a fix of a release that fails everywhere", 60, tenth, failing(1, 2), release(10*time.Minute, 3))
	add("release-60-back", "back to the first release", 60, tenth, failing(4, 2), release(5*time.Minute, 1))
	add("release-100-rings", "another release in mid-rollout", 100, ringed([3]string{"0%", "10%", "25%"}),
		release(3*time.Minute, 3))
	add("labels-60", "a cluster moves to another ring", 60, ringed([3]string{"0%", "10%", "10%"}),
		labels(time.Minute, 50, map[string]string{"ring": "early"}))
	add("leaves-60", "two clusters leave the workspace, one comes back", 60, tenth, selected(time.Minute, 7, false),
		selected(time.Minute, 40, false), selected(5*time.Minute, 40, true))
	add("mixed-60", "a third runs an older revision, a sixth runs none", 60, tenth, revisions(2, 3, func(target int) int {
		if target%3 == 0 {
			return 1
		} else if target%6 == 1 {
			return 0
		}
		return 2
	}))
	add("ready-lost-60", "clusters cease to be ready in mid-rollout", 60, tenth, func(c *Case) {
		for _, target := range []int{2, 3, 4} {
			no := false
			script(40*time.Second, cosim.News{Target: &target, Ready: &no})(c)
		}
	}, until(30*time.Minute))
}

// clusterGroup selects clusters by a label.
func clusterGroup(name, level, key, value string) string {
	return fmt.Sprintf("apiVersion: fleet.cattle.io/v1alpha1\nkind: ClusterGroup\n"+
		"metadata: {name: %s, namespace: fleet-default, labels: {level: %s}}\nspec: {selector: {matchLabels: {%s: %s}}}\n",
		name, level, key, value)
}

// fleetMixtures adds cases that were written without knowledge of the native rules, to test them.
func fleetMixtures(add adder) {
	groups := strings.Join([]string{clusterGroup("gold", "high", "tier", "gold"), clusterGroup("europe", "low", "region", "eu"),
		clusterGroup("america", "low", "region", "us")}, "---\n")
	add("groups-120", "partitions of cluster groups, by name and by the groups' labels", 120, strategy("maxUnavailable: 20%",
		"partitions:", "- {name: gold, clusterGroup: gold, maxUnavailable: 10%}",
		"- {name: low, clusterGroupSelector: {matchLabels: {level: low}}, maxUnavailable: 4}",
		"- {name: others, clusterSelector: {}}"), regions, file("groups.yaml", groups))
	add("release-120-rings-fix", "a fix of a release that fails on every 5th cluster, in rings", 120,
		ringed([3]string{"50%", "30%", "15%"}, "maxUnavailable: 30%"), failing(5, 2), spread(8*second, minute),
		release(5*minute, 3), until(30*minute))
	add("leaves-35-at-once", "two clusters leave in the first pass, and come back", 35, strategy("maxUnavailable: 20%"),
		selected(time.Millisecond, 9, false), selected(50*second, 9, true), selected(2*time.Millisecond, 20, false),
		selected(10*minute, 20, true))
	add("failing-35-recovers", "two clusters fail when they were ready, and recover", 35, strategy("maxUnavailable: 2"),
		says(30*second, 0, "crash loop"), says(3*minute, 0, ""), says(31*second, 5, "no disk"), says(4*minute, 5, ""))
	add("failing-35-apply", "a cluster fails to apply at first", 35, strategy("maxUnavailable: 4"), apply(10*second),
		says(5*second, 1, "cannot pull chart"), says(2*minute, 1, ""))
	add("mixed-120-none", "every other cluster runs nothing, 5 new ones in a pass", 120,
		strategy("maxUnavailable: 25%", "maxNew: 5"), revisions(1, 2, func(target int) int { return target % 2 }))
	add("pause-35-file", "the file pauses the bundle; resumed after 2 min", 35, "paused: true\n"+strategy("maxUnavailable: 20%"),
		stop(minute, 2*minute))
	add("combined-250", "failures, cut clusters, slow ones and another release in automatic partitions", 250,
		strategy("maxUnavailable: 10%", "autoPartitionSize: 20%", "maxUnavailablePartitions: 1"), failing(30, 2),
		cut(12, 50*second, 6*minute), slow(17, 3*minute), release(8*minute, 3))
}

// fleetCaches adds cases with a watch delay of many requests: caches that lag behind the controller's own writes.
func fleetCaches(outer adder) {
	add := func(id, note string, n int, file string, changes ...change) {
		caches := latency(5*time.Millisecond, 100*time.Millisecond)
		outer("watch-"+id, note, n, file, append([]change{caches}, changes...)...)
	}
	tenth := strategy("maxUnavailable: 10%")
	values := "helm: {values: {replicas: 3}}\n" + tenth
	add("first-120", "a first deployment with defaults", 120, strategy(), first)
	add("first-250", "a first deployment with defaults", 250, strategy(), first)
	add("first-40-maxnew-7", "7 new deployments in a pass", 40, strategy("maxNew: 7"), first)
	add("first-60-values", "with Helm values: one cluster after the other", 60, values, first)
	add("first-100-rings", "manual partitions", 100, ringed([3]string{"0", "1", "5%"}), first)
	add("update-60", "an update, 10 % at a time", 60, tenth)
	add("update-60-values", "the same with Helm values", 60, values)
	add("release-60-soon", "another release while the first is written", 60, strategy("maxUnavailable: 50%"),
		release(300*time.Millisecond, 3))
	add("mixed-60-none", "every other cluster runs nothing", 60, strategy("maxUnavailable: 25%", "maxNew: 5"),
		revisions(1, 2, func(target int) int { return target % 2 }))
}
