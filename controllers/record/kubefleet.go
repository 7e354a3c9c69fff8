package main

import (
	"fmt"
	"strings"
	"time"
)

const (
	second = time.Second
	minute = time.Minute
)

// rolling is a ClusterResourcePlacement with a rolling update; "" means the field is absent.
func rolling(maxUnavailable, maxSurge, period string) string {
	lines := []string{"apiVersion: placement.kubernetes-fleet.io/v1beta1", "kind: ClusterResourcePlacement",
		"metadata:", "  name: app", "spec:", "  strategy:", "    type: RollingUpdate", "    rollingUpdate:"}
	for _, field := range [][2]string{{"maxUnavailable", maxUnavailable}, {"maxSurge", maxSurge},
		{"unavailablePeriodSeconds", period}} {
		if field[1] != "" {
			lines = append(lines, "      "+field[0]+": "+field[1])
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// stage is a stage of a staged update.
type stage struct {
	name, selector, concurrency, sort string
	before, after                     []string // Approval, or TimedWait and a time
}

// staged is a strategy with a run in the given state; "" means Run.
func staged(state string, stages ...stage) string {
	lines := []string{"apiVersion: placement.kubernetes-fleet.io/v1beta1", "kind: ClusterStagedUpdateStrategy",
		"metadata:", "  name: strategy", "spec:", "  stages:"}
	for _, s := range stages {
		lines = append(lines, "  - name: "+s.name)
		switch s.selector {
		case "":
			lines = append(lines, "    labelSelector: {}")
		default:
			lines = append(lines, "    labelSelector: {matchLabels: {ring: "+s.selector+"}}")
		}
		if s.concurrency != "" {
			lines = append(lines, "    maxConcurrency: "+s.concurrency)
		}
		if s.sort != "" {
			lines = append(lines, "    sortingLabelKey: "+s.sort)
		}
		lines = append(append(lines, tasks("before", s.before)...), tasks("after", s.after)...)
	}
	if state == "" {
		state = "Run"
	}
	lines = append(lines, "---", "apiVersion: placement.kubernetes-fleet.io/v1beta1", "kind: ClusterStagedUpdateRun",
		"metadata:", "  name: run", "spec:", "  placementName: app", "  stagedRolloutStrategyName: strategy",
		"  state: "+state)
	return strings.Join(lines, "\n") + "\n"
}

func tasks(when string, given []string) []string {
	if len(given) == 0 {
		return nil
	}
	lines := []string{"    " + when + "StageTasks:"}
	for _, task := range given {
		kind, wait, timed := strings.Cut(task, " ")
		lines = append(lines, "    - type: "+kind)
		if timed {
			lines = append(lines, "      waitTime: "+wait)
		}
	}
	return lines
}

// rings is the usual strategy of three stages.
func rings(concurrency string, adapt func(*[3]stage)) string {
	stages := [3]stage{{name: "canary", selector: "canary"}, {name: "early", selector: "early", concurrency: concurrency},
		{name: "rest", selector: "rest", concurrency: concurrency}}
	if adapt != nil {
		adapt(&stages)
	}
	return staged("", stages[:]...)
}

func kubefleet() []Case {
	return append(append(kubefleetRolling(), kubefleetRollingTroubles()...), append(kubefleetStaged(),
		kubefleetStagedTroubles()...)...)
}

func kubefleetRolling() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout("rolling-"+id, note, n, file, changes...))
	}
	for _, n := range []int{20, 100, 300, 1000} {
		add(fmt.Sprint("first-", n), "first deployment with the defaults", n, "", first)
	}
	for _, n := range []int{20, 50, 100, 300, 500, 1000} {
		add(fmt.Sprint("update-", n), "update with the defaults", n, "")
	}
	add("update-300-slow", "update with the defaults, ready after 5 min", 300, "", ready(5*minute))
	add("first-careful-50", "first deployment, one by one", 50, rolling("1", "1", ""), first)
	for _, max := range []string{"1", "5%", "10%", "50%", "100%"} {
		add("update-100-max-"+strings.TrimSuffix(max, "%"), "update with maxUnavailable "+max, 100, rolling(max, "", ""))
	}
	add("update-1000-max-5", "update of 1,000 with maxUnavailable 5%", 1000, rolling("5%", "", ""), ready(2*minute))
	add("update-500-max-100", "update of 500 at once", 500, rolling("100%", "", ""))
	add("update-100-surge-0", "update without surge", 100, rolling("10%", "0", ""))
	add("update-100-period-10", "update with unavailablePeriodSeconds 10", 100, rolling("", "", "10"))
	add("update-40-none", "maxUnavailable 0 never updates in place", 40, rolling("0", "", ""), until(time.Hour))
	add("update-40-quick", "ready at once", 40, "", ready(0))
	add("update-150-spread", "ready after 10 s to 10 min", 150, "", spread(10*second, 10*minute))
	add("update-100-spread", "ready after 1 to 30 min, maxUnavailable 10%", 100, rolling("10%", "", ""),
		spread(minute, 30*minute))
	add("first-200-spread", "first deployment, ready after 10 s to 10 min", 200, "", first, spread(10*second, 10*minute))
	add("update-100-latency-1", "requests of 1 ms", 100, "", latency(time.Millisecond, time.Millisecond))
	add("update-100-latency-20", "requests of 20 ms, watches of 50 ms", 100, "",
		latency(20*time.Millisecond, 50*time.Millisecond))
	add("update-600-max-10", "update of 600 with maxUnavailable 10%, ready after 1 min", 600, rolling("10%", "", ""),
		ready(minute))
	add("update-250-spread", "ready after 30 s to 5 min, maxUnavailable 20%", 250, rolling("20%", "", ""),
		spread(30*second, 5*minute))
	add("update-400-latency-2", "requests of 2 ms, watches of 10 ms", 400, rolling("30%", "", ""),
		latency(2*time.Millisecond, 10*time.Millisecond))
	return all
}

func kubefleetRollingTroubles() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout("rolling-"+id, note, n, file, changes...))
	}
	add("slow-100", "every 20th cluster is ready after 40 min", 100, "", slow(20, 40*minute))
	add("slow-100-careful", "every 20th cluster is ready after 40 min, maxUnavailable 2", 100, rolling("2", "", ""),
		slow(20, 40*minute))
	add("failing-40", "every 20th cluster fails", 40, "", failing(20, 2), until(2*time.Hour))
	add("failing-40-careful", "every 10th cluster fails, maxUnavailable 2: the rollout stalls", 40, rolling("2", "", ""),
		failing(10, 2), until(2*time.Hour))
	add("failing-60-most", "every second cluster fails: the rollout stalls", 60, "", failing(2, 2), until(2*time.Hour))
	add("failing-60-fixed", "every second cluster fails; the next release, after 20 min, is good", 60, "", failing(2, 2),
		release(20*minute, 3))
	add("offline-100", "every 10th cluster is offline throughout", 100, "", cut(10, 0, 0), until(2*time.Hour))
	add("offline-100-returns", "every 10th cluster is offline and returns after 15 min", 100, "", cut(10, 0, 15*minute))
	add("offline-50-careful", "every 10th cluster is offline, maxUnavailable 2, and returns after 30 min", 50,
		rolling("2", "", ""), cut(10, 0, 30*minute))
	add("offline-100-leaves", "every 5th cluster is cut off from 30 s to 10 min", 100, "", cut(5, 30*second, 10*minute))
	add("release-100", "another release after 35 s", 100, "", release(35*second, 3))
	add("release-200", "other releases after 1 and 5 min, slow clusters", 200, rolling("10%", "", ""),
		spread(minute, 5*minute), release(minute, 3), release(5*minute, 4))
	add("unselected-50", "3 clusters are no longer selected after 25 s", 50, rolling("10%", "", ""),
		selected(25*second, 3, false), selected(25*second, 20, false), selected(25*second, 49, false))
	add("selected-50", "a cluster leaves after 25 s and is selected again after 2 min", 50, rolling("10%", "", ""),
		selected(25*second, 7, false), selected(2*minute, 7, true))
	add("failing-200", "every 25th cluster fails, maxUnavailable 10%", 200, rolling("10%", "", ""), failing(25, 2),
		until(2*time.Hour))
	add("offline-300", "every 20th cluster is cut off from 30 s to 10 min", 300, "", cut(20, 30*second, 10*minute))
	add("release-300", "another release after 50 s", 300, "", release(50*second, 3))
	add("release-500", "another release after 40 s", 500, "", release(40*second, 3))
	add("release-350-late", "another release after 90 s, ready after 70 s, maxUnavailable 15%", 350, rolling("15%", "", ""),
		release(90*second, 3), ready(70*second))
	return all
}

func kubefleetStaged() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout("staged-"+id, note, n, file, changes...))
	}
	one := func(concurrency string) string { return staged("", stage{name: "all", concurrency: concurrency}) }
	for _, c := range []struct {
		n           int
		concurrency string
	}{{20, "1"}, {20, "3"}, {50, "10%"}, {100, "25%"}, {100, "100%"}, {300, "5%"}, {1000, "5%"}} {
		add(fmt.Sprintf("one-%d-%s", c.n, strings.TrimSuffix(c.concurrency, "%")), "one stage, maxConcurrency "+c.concurrency,
			c.n, one(c.concurrency))
	}
	add("first-100", "first deployment in one stage", 100, one("25%"), first)
	add("first-rings-60", "first deployment in three stages", 60, rings("50%", nil), first)
	add("rings-40", "three stages", 40, rings("5", nil))
	add("rings-200", "three stages, maxConcurrency 20%", 200, rings("20%", nil), spread(20*second, 4*minute))
	add("rings-60-sorted", "three stages, sorted by a label", 60, rings("4", func(s *[3]stage) {
		for i := range s {
			s[i].sort = "order"
		}
	}))
	add("rings-60-wait", "a wait of 10 min after the first stage and of 90 s after the second", 60,
		rings("50%", func(s *[3]stage) {
			s[0].after, s[1].after = []string{"TimedWait 10m"}, []string{"TimedWait 1m30s"}
		}))
	add("rings-60-approved", "approvals after the first and before the third stage", 60, rings("50%", func(s *[3]stage) {
		s[0].after, s[2].before = []string{"Approval"}, []string{"Approval"}
	}), approve(5*minute, "canary", "after"), approve(9*minute+13*second, "rest", "before"))
	add("rings-60-approval-and-wait", "an approval and a wait after the first stage", 60, rings("50%", func(s *[3]stage) {
		s[0].after = []string{"TimedWait 5m", "Approval"}
	}), approve(2*minute, "canary", "after"))
	add("rings-60-late", "a wait and a late approval after the first stage", 60, rings("50%", func(s *[3]stage) {
		s[0].after = []string{"TimedWait 2m", "Approval"}
	}), approve(20*minute, "canary", "after"))
	add("rings-60-never", "nobody approves", 60, rings("50%", func(s *[3]stage) { s[1].before = []string{"Approval"} }),
		until(time.Hour))
	add("one-60-quick", "ready at once", 60, one("10"), ready(0))
	add("one-60-minute", "ready after 1 min", 60, one("10"), ready(minute))
	add("one-100-spread", "ready after 10 s to 10 min", 100, one("10%"), spread(10*second, 10*minute))
	return all
}

func kubefleetStagedTroubles() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout("staged-"+id, note, n, file, changes...))
	}
	add("slow-60", "every 20th cluster is ready after 40 min", 60, rings("50%", nil), slow(20, 40*minute))
	add("failing-40", "every 20th cluster fails: the run is stuck", 40, rings("50%", nil), failing(20, 2), until(2*time.Hour))
	add("failing-40-first", "the first cluster fails", 40, rings("50%", nil), failing(1, 2), until(time.Hour))
	add("offline-60", "every 10th cluster is offline and returns after 30 min", 60, rings("50%", nil), cut(10, 0, 30*minute))
	add("offline-60-leaves", "every 5th cluster is cut off from 90 s to 20 min", 60, rings("25%", nil),
		cut(5, 90*second, 20*minute))
	add("stop-60", "stopped after 70 s and resumed after 15 min", 60, rings("25%", nil), stop(70*second, 15*minute))
	add("stop-60-for-good", "stopped after 70 s", 60, rings("25%", nil), stop(70*second, 0), until(time.Hour))
	add("stop-60-waiting", "stopped in a timed wait, which starts again", 60, rings("50%", func(s *[3]stage) {
		s[0].after = []string{"TimedWait 10m"}
	}), stop(4*minute, 6*minute))
	add("stop-60-twice", "stopped and resumed twice", 60, rings("10%", nil), stop(65*second, 3*minute),
		stop(5*minute, 8*minute))
	single := staged("", stage{name: "all", concurrency: "1"})
	add("stop-2-again", "stopped again while stopped: nothing changes, and no pass begins", 2, single, ready(200*second),
		stop(10*second, 0), stop(minute, 100*second))
	add("resume-2-other", "resumed while another run goes on, whose object does not change", 2, single, ready(200*second),
		stop(10*second, 0), release(20*second, 3), script(100*second, resume()))
	add("approve-2-twice", "approved again, which changes nothing", 2,
		staged("", stage{name: "all", concurrency: "1", before: []string{"Approval"}}), ready(200*second),
		approve(10*second, "all", "before"), approve(minute, "all", "before"))
	add("initialize-20", "a run that is initialized and started after 5 min", 20,
		staged("Initialize", stage{name: "all", concurrency: "4"}), script(5*minute, resume()))
	add("initialize-20-only", "a run that is never started", 20, staged("Initialize", stage{name: "all"}), until(10*minute))
	add("overlap-20", "two stages select the same cluster: the run fails", 20,
		staged("", stage{name: "one", selector: "canary"}, stage{name: "two"}))
	add("uncovered-20", "no stage selects the rest: the run fails", 20, staged("", stage{name: "canary", selector: "canary"}))
	add("empty-20", "a stage without clusters", 20, staged("", stage{name: "none", selector: "nothing"}, stage{name: "all"}))
	add("relabelled-60", "a cluster moves to another stage: the run fails", 60, rings("25%", nil),
		labels(100*second, 50, map[string]string{"ring": "early", "order": "1"}))
	add("unselected-60", "a cluster is no longer selected in mid-run: the run fails", 60, rings("25%", nil),
		selected(100*second, 50, false))
	add("deleted-40", "3 clusters left before the run: the delete stage", 40, rings("50%", nil),
		selected(0, 5, false), selected(0, 20, false), selected(0, 39, false))
	add("release-60", "another release and run after 100 s", 60, rings("25%", nil), release(100*second, 3))
	return all
}
