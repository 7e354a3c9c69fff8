"""Errors with the program's text, Ctrl-C, panics, threads, processes and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import fleetsim as fs
import pytest
from conftest import ROOT, run_program, small

#: A study of several minutes, with one run of a minute or more at a time.
LONG = """
import sys, fleetsim as fs
from conftest import small
print("ready", flush=True)
try:
    fs.Experiment(small(4000, replicates=200)).run(causes=False, threads=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_invalid_experiment_has_the_text_of_the_program(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("name: wrong\nfleet:\n  - {name: a, downlink: 5 furlongs}\nstrategies: {all: {allAtOnce: {}}}\nreplicas: 3\n")
    with pytest.raises(fs.InvalidExperiment) as caught:
        fs.load(file)
    done = run_program("check", str(file))
    assert done.returncode == 2
    text = done.stderr.rstrip("\n")
    assert text.startswith(str(caught.value).rstrip("\n"))
    lines = {problem["field"]: problem["line"] for problem in caught.value.problems}
    assert lines["fleet[0].downlink"] == 3 and lines["replicas"] == 5
    assert all(problem["file"].endswith("wrong.yaml") for problem in caught.value.problems)
    assert isinstance(caught.value, ValueError)


def test_a_changed_setting_is_checked_at_once() -> None:
    experiment = fs.load(ROOT / "experiments/01-max-unavailable")
    with pytest.raises(fs.InvalidExperiment, match="registry.egres"):
        experiment.set("registry.egres", "5 Gbit/s")
    assert experiment.set("registry.egress", "5 Gbit/s").variants == experiment.variants


def test_a_wrong_option_has_the_text_of_the_program() -> None:
    with pytest.raises(fs.CommandFailed, match="replicates") as caught:
        fs.Experiment(small()).run(replicates=0)
    assert caught.value.code == 2
    with pytest.raises(fs.CommandFailed, match="--memory") as caught:
        fs.Experiment(small()).run(memory="1 MB")
    assert caught.value.code == 2


def test_a_panic_is_an_exception() -> None:
    from fleetsim import _fleetsim

    with pytest.raises(fs.InternalError, match="a panic for a test"):
        _fleetsim.panic_for_test()
    assert fs.Experiment(small()).run(replicates=1).limits_met, "the process goes on"


def test_ctrl_c_ends_within_a_second() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
    )
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    time.sleep(3)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    took = time.monotonic() - began
    child.wait(timeout=60)
    assert took < 1.0, took


def test_threads_do_not_disturb_one_another() -> None:
    experiment = fs.Experiment(small(replicates=4))
    alone = [experiment.with_seed(seed).run(causes=False).runs.csv for seed in range(4)]

    def run(seed: int) -> bytes:
        return experiment.with_seed(seed).run(causes=False, threads=1).runs.csv

    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(run, range(4)))
    assert together == alone


def run_in_process(seed: int) -> bytes:
    return fs.Experiment(small(replicates=4)).with_seed(seed).run(causes=False, threads=1).runs.csv


def test_processes_do_not_disturb_one_another() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        together = list(processes.map(run_in_process, range(2)))
    assert together == [run_in_process(seed) for seed in range(2)]


def test_the_interpreter_is_released_while_simulating() -> None:
    experiment = fs.Experiment(small(300, replicates=8))
    ticks = []
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.005):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    experiment.run(causes=False)
    took = time.monotonic() - began
    over.set()
    thread.join()
    assert len(ticks) > took * 20, f"{len(ticks)} ticks in {took} s"


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    fs.Experiment(small(300, replicates=40)).run(causes=False, progress=lambda done, all: seen.append((done, all)))
    assert seen and all(done <= wanted for done, wanted in seen)
    assert max(wanted for _, wanted in seen) >= 80


def test_an_exception_of_the_reporter_ends_the_study() -> None:
    def refuse(done: int, wanted: int) -> None:
        raise RuntimeError("enough")

    began = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        fs.Experiment(small(4000, replicates=200)).run(causes=False, progress=refuse)
    assert time.monotonic() - began < 30


def resident() -> int:
    """The resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")
def test_a_thousand_runs_leak_nothing() -> None:
    class Batches(fs.Strategy):
        def decide(self, now: float, fleet: fs.Fleet) -> list[int]:
            return [] if fleet.in_flight else fleet.waiting(4)

    experiment = fs.Experiment(small(replicates=10)).with_strategy("mine", Batches())

    def studies(count: int) -> None:
        for _ in range(count):
            results = experiment.run(causes=False)
            results.runs.polars()
            results.summary.arrow()

    # 30 runs for each study.
    studies(20)
    before = resident()
    studies(34)
    after = resident()
    print(f"{before:,} bytes before, {after:,} after 1,020 runs")
    assert after <= before * 1.05
