"""Strategies in Python decide as the same strategy over the pipe does, and sooner."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fleetsim as fs
import pytest
from conftest import ROOT, run_program, small

TABLES = ["runs", "summary", "timeline", "clusters", "passes", "registries", "comparison"]


class Batches(fs.Strategy):
    """Decides like examples/external-scheduler/scheduler.py."""

    def __init__(self, size: int) -> None:
        self.size = size

    def stages(self, fleet: fs.Fleet) -> dict[str, range]:
        starts = range(0, len(fleet), self.size)
        batches = [range(start, min(start + self.size, len(fleet))) for start in starts]
        return {f"batch {at}": batch for at, batch in enumerate(batches, 1)} if len(batches) > 1 else {}

    def decide(self, now: float, fleet: fs.Fleet) -> list[int]:
        return [] if fleet.stopped or fleet.in_flight else fleet.waiting(self.size)

    def hold(self, fleet: fs.Fleet) -> tuple[str, str] | None:
        names = [fleet.targets[at].name for at in fleet.all_in_flight()]
        return ("batch", f"not ready: {', '.join(names)}") if names else None


def piped(tmp_path: Path, experiment: dict[str, Any], size: int) -> fs.Results:
    """The results of the same strategy as a process."""
    script = (ROOT / "examples/external-scheduler/scheduler.py").read_text()
    (tmp_path / "scheduler.py").write_text(script)
    strategy = {"external": {"command": [sys.executable, "scheduler.py", str(size)]}}
    file = tmp_path / "piped.yaml"
    file.write_text(json.dumps({**experiment, "strategies": {"mine": strategy}}))
    return fs.load(file).run(allow_commands=True, causes=False)


def in_process(experiment: dict[str, Any], size: int, threads: int | None = None) -> fs.Results:
    other = {**experiment, "strategies": {"mine": {"allAtOnce": {}}}}
    return fs.Experiment(other).with_strategy("mine", Batches(size)).run(causes=False, threads=threads)


def test_a_strategy_in_process_equals_the_one_over_the_pipe(tmp_path: Path) -> None:
    changes = [{"after": "2 min", "stop": True}, {"after": "10 min", "stop": False}]
    offline = {"pullFailure": "1%", "offline": {"share": "10%"}}
    cases = [small(30), small(30, changes=changes), small(30, faults=offline, horizon="2 h")]
    for experiment in cases:
        pipe, own = piped(tmp_path, experiment, 4), in_process(experiment, 4)
        for name in TABLES:
            assert own.table(name).csv == pipe.table(name).csv, name
    assert "not ready: site-" in str(own.runs.rows("held_detail")), "the last case is held"


def test_threads_do_not_change_what_a_strategy_decides() -> None:
    experiment = small(30, replicates=6)
    one, many = in_process(experiment, 4, threads=1), in_process(experiment, 4, threads=4)
    assert one.runs.csv == many.runs.csv


def test_it_equals_the_native_strategy() -> None:
    results = fs.Experiment(small(30)).with_strategy("mine", Batches(4)).run(causes=False)
    columns = ("strategy", "replicate", "reachable_ready_s", "peak_pulls", "egress_bytes")
    rows = results.runs.rows(*columns)
    mine = [row[1:] for row in rows if row[0] == "mine"]
    native = [row[1:] for row in rows if row[0] == "batches"]
    assert mine == native


def test_a_decision_costs_at_most_a_fifth_of_one_over_the_pipe(tmp_path: Path) -> None:
    # One target at a time gives many passes, and the rest of a run is the same on both sides: `batches` is native.
    experiment = small(1000, replicates=1)
    experiment["faults"] = {}
    shared = {**experiment, "strategies": {"mine": {"batches": {"size": 1}}}}

    def seconds(run: Any) -> float:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            run()
            times.append(time.perf_counter() - began)
        return min(times)

    native = seconds(lambda: fs.Experiment(shared).run(causes=False))
    own = seconds(lambda: in_process(experiment, 1)) - native
    pipe = seconds(lambda: piped(tmp_path, experiment, 1)) - native
    print(f"native {native:.2f} s; decisions: in process {own:.3f} s, over the pipe {pipe:.3f} s")
    assert own <= pipe / 5


def test_a_run_has_its_own_copy() -> None:
    class Once(fs.Strategy):
        def __init__(self) -> None:
            self.calls: list[float] = []

        def decide(self, now: float, fleet: fs.Fleet) -> list[int]:
            self.calls.append(now)
            return fleet.waiting() if len(self.calls) == 1 else []

    strategy = Once()
    results = fs.Experiment(small()).with_strategy("once", strategy).run(causes=False)
    assert strategy.calls == [], "runs work with copies"
    rows = dict(results.runs.rows("strategy", "outcome"))
    assert rows["once"] == "complete"


def test_a_strategy_sees_its_fleet() -> None:
    seen: dict[str, Any] = {}

    class Curious(fs.Strategy):
        def decide(self, now: float, fleet: fs.Fleet) -> Iterable[fs.Target]:
            if now == 0.0:
                first = fleet.targets[0]
                seen["first"] = (first.index, first.name, first.labels, first.paused, first.registered)
                seen["fleet"] = (len(fleet), fleet.wanted, fleet.in_flight, fleet.done, fleet.applied(first))
                fleet.wake(100.0)
                return []
            seen.setdefault("woken", now)
            seen.setdefault("told", fleet.is_told(0))
            seen.setdefault("news", [(change.target, change.ready) for change in fleet.news])
            return fleet.targets if not fleet.is_told(0) else []

    fleet = [{"name": "site-{1..3}", "labels": {"env": "prod"}}, {"name": "new", "installed": False}]
    experiment = fs.Experiment(small(fleet=fleet, replicates=1))
    results = experiment.with_strategy("curious", Curious()).run(causes=False, threads=1)
    assert seen["first"] == (0, "site-1", {"env": "prod"}, False, True)
    assert seen["fleet"] == (4, 2, 0, 0, 1)
    assert seen["woken"] == 100.0 and seen["told"] is False and seen["news"] == []
    assert dict(results.runs.rows("strategy", "outcome"))["curious"] == "complete"


def test_an_exception_of_a_strategy_names_its_place() -> None:
    class Broken(fs.Strategy):
        def decide(self, now: float, fleet: fs.Fleet) -> list[int]:
            return [1 // 0]

    experiment = fs.Experiment(small()).with_strategy("broken", Broken())
    with pytest.raises(fs.CommandFailed) as caught:
        experiment.run()
    text = str(caught.value)
    assert "`decide` of the strategy has failed: ZeroDivisionError" in text
    assert "run: broken, replicate 0" in text and "test_strategy.py, line" in text
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_wrong_decisions_are_refused() -> None:
    cases: list[tuple[Any, str]] = [
        ([99], "a target must be a number from 0 to 11, not 99"),
        (["site-001"], "a target must be its number or a `Target`, not site-001"),
        (7, "'int' object is not iterable"),
    ]
    for decision, message in cases:

        class Wrong(fs.Strategy):
            def decide(self, now: float, fleet: fs.Fleet) -> Any:
                return decision  # noqa: B023

        with pytest.raises(fs.CommandFailed) as caught:
            fs.Experiment(small()).with_strategy("wrong", Wrong()).run()
        assert message in str(caught.value)


def test_results_record_the_strategy(tmp_path: Path) -> None:
    results = fs.Experiment(small()).with_strategy("mine", Batches(4)).run(causes=False)
    inputs = {entry["path"] for entry in results.provenance["inputs"]}
    assert "mine.py" in inputs
    assert "class Batches" in (results.save(tmp_path / "saved") / "inputs/mine.py").read_text()
    assert '"size": "4"' in str(results.provenance["set"])


def test_results_of_python_objects_name_no_command(tmp_path: Path) -> None:
    results = fs.Experiment(small()).with_strategy("mine", Batches(4)).run(causes=False)
    words = f"Reproduce: run the program that has `{Batches.__module__}.Batches` again; no command has them"
    assert str(results.answer).endswith(f"{words}\n")
    done = run_program("reproduce", str(results.save(tmp_path / "saved")))
    assert done.returncode == 2 and "run that program again" in done.stderr
    assert "Reproduce: fleetsim run small.yaml" in str(fs.Experiment(small()).run(causes=False).answer)


def test_the_command_line_has_no_strategies_of_python() -> None:
    words = ["run", "experiments/01-max-unavailable", "--set", "strategies.x={external: {command: ['python:m.C']}}"]
    done = subprocess.run([sys.executable, "-m", "fleetsim", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--allow-commands" in done.stderr
