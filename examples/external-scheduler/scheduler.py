#!/usr/bin/env python3
"""A scheduler for fleetsim in Python: batches of SIZE clusters, each started when all earlier ones are ready.

usage: scheduler.py SIZE

It decides like the strategy `batches: {size: SIZE}`. fleetsim starts one process for each run and talks to it over
standard input and output; docs/external-schedulers.md describes the messages.
"""

import json
import sys


class Batches:
    def __init__(self, size, hello):
        self.size = size
        self.names = [target["name"] for target in hello["targets"]]
        self.wanted = hello["release"]["revision"]
        # The revision that each target was last told to run, and whether it is ready on it.
        self.assigned = [hello["release"]["installed"]] * len(self.names)
        self.ready = [True] * len(self.names)
        self.stopped = False

    def stages(self):
        """Names for groups of targets, which appear in clusters.csv."""
        starts = range(0, len(self.names), self.size)
        batches = [range(start, min(start + self.size, len(self.names))) for start in starts]
        named = [{"name": f"batch {at}", "targets": list(batch)} for at, batch in enumerate(batches, 1)]
        return named if len(named) > 1 else []

    def in_flight(self):
        return [at for at in range(len(self.names)) if self.assigned[at] == self.wanted and not self.ready[at]]

    def decide(self, news):
        for item in news:
            if "applied" in item:
                target = item["target"]
                self.ready[target] = item["ready"] and item["applied"] == self.assigned[target]
            # A person stops the rollout, or resumes it: `changes` of the experiment.
            self.stopped = item.get("stop", self.stopped)
        if self.stopped or self.in_flight():
            return []
        batch = [at for at in range(len(self.names)) if self.assigned[at] != self.wanted][: self.size]
        for target in batch:
            self.assigned[target], self.ready[target] = self.wanted, False
        return [{"target": target, "revision": self.wanted} for target in batch]

    def hold(self):
        """The rule that blocks the rollout, for the column held_by of a rollout that does not complete."""
        names = [self.names[at] for at in self.in_flight()]
        return {"rule": "batch", "explanation": f"not ready: {', '.join(names)}"} if names else {}


def answer(scheduler, kind, message):
    if kind == "hello":
        return {"ready": {"name": "batches", "stages": scheduler.stages()}}
    if kind == "pass":
        return {"deploy": scheduler.decide(message["news"])}
    return {kind: scheduler.hold() if kind == "hold" else {}}


scheduler = None
for line in sys.stdin:
    [(kind, message)] = json.loads(line).items()
    if kind == "hello":
        scheduler = Batches(int(sys.argv[1]), message)
    print(json.dumps(answer(scheduler, kind, message)), flush=True)
