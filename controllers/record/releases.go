package main

import "time"

// fleetReleases adds cases of Rancher Fleet in which a release overtakes another one, or is taken back.
func fleetReleases(add adder) {
	rings := ringed([3]string{"0%", "10%", "25%"})
	tenth := strategy("maxUnavailable: 10%")
	add("releases-40-twice", "two releases overtake the first, readiness from 10 s to 3 min", 40, rings,
		spread(10*time.Second, 3*time.Minute), release(2*time.Minute, 3), release(6*time.Minute, 4))
	add("releases-30-back", "back to the first release in mid-rollout, all are well", 30, rings,
		release(150*time.Second, 1))
	add("releases-30-back-after-all", "back to the first release when all are done", 30, tenth, release(25*time.Minute, 1))
	add("releases-45-forward", "every 5th cluster fails; the next release is good", 45, rings, failing(5, 2),
		release(4*time.Minute, 3))
	add("releases-50-back-and-fix", "back after 2 min, and a fix after 5 min", 50, tenth, failing(7, 2),
		release(2*time.Minute, 1), release(5*time.Minute, 3))
	add("releases-40-again", "the second release once more, after a third", 40, rings,
		spread(10*time.Second, 3*time.Minute),
		release(2*time.Minute, 3), release(5*time.Minute, 2))
	add("releases-20-at-once", "without limits, another release before the first is ready", 20, strategy(),
		release(12*time.Second, 3))
	add("releases-60-offline", "every 12th cluster is cut off from 30 s to 8 min, back after 3 min", 60, tenth,
		cut(12, 30*time.Second, 8*time.Minute), release(3*time.Minute, 1))
}

// argocdReleases returns cases of Argo CD in which a release overtakes another one, or is taken back.
func argocdReleases() []Case {
	var all []Case
	add := func(id, note string, n int, file string, changes ...change) {
		all = append(all, rollout(id, note, n, file, append([]change{until(2 * time.Hour)}, changes...)...))
	}
	quarter := rounds("25%")
	add("steps-releases-40-twice", "two releases overtake the first, readiness from 10 s to 3 min", 40, quarter,
		spread(10*second, 3*minute), release(2*minute, 3), release(5*minute, 4))
	add("steps-releases-30-back", "back to the first revision in mid-rollout, all are well", 30, quarter,
		release(200*second, 1))
	add("steps-releases-30-back-after-all", "back to the first revision when all are done", 30, quarter,
		release(25*minute, 1))
	add("steps-releases-45-forward", "every 5th cluster never gets ready; the next release is good", 45, quarter,
		failing(5, 2), release(4*minute, 3))
	add("steps-releases-50-back-and-fix", "back after 2 min, and a fix after 4 min", 50, quarter, failing(7, 2),
		release(2*minute, 1), release(4*minute, 3))
	add("steps-releases-40-again", "the second revision once more, after a third", 40, together("5"),
		spread(10*second, 3*minute), release(minute, 3), release(3*minute, 2))
	add("once-releases-40-back", "automated sync, back to the first revision after 10 s", 40, "", release(10*second, 1))
	add("once-releases-30-back-after-all", "automated sync, back to the first revision when all are done", 30, "",
		failing(6, 2), release(10*minute, 1))
	return all
}
