"""Slips of people who are new to the package are refused at once, with what to write instead."""

from __future__ import annotations

from pathlib import Path

import fleetsim as fs
import pytest
from conftest import ROOT, small


class Everything(fs.Strategy):
    def decide(self, now: float, fleet: fs.Fleet) -> list[int]:
        return fleet.waiting()


class NoFaults(fs.Faults):
    def outages(self, sites: object, horizon: float, rng: fs.Rng) -> list[fs.Outage]:
        return []


def test_a_class_is_not_its_object() -> None:
    experiment = fs.Experiment(small())
    with pytest.raises(TypeError, match=r"a strategy must be an object, not the class; write Everything\(…\)"):
        experiment.with_strategy("mine", Everything)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a strategy must be an object of a subclass of fs.Strategy, not NoFaults"):
        experiment.with_strategy("mine", NoFaults())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a failure model must be an object, not the class; write NoFaults\(…\)"):
        experiment.with_faults(NoFaults)  # type: ignore[arg-type]


def test_a_path_is_not_an_experiment_and_a_dictionary_is_not_a_path() -> None:
    folder = ROOT / "experiments/01-max-unavailable"
    for path in (folder, str(folder)):
        with pytest.raises(TypeError, match=r"this is a path, not an experiment: write fs.load\('.*01-max-unavailable'\)"):
            fs.Experiment(path)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="write fs.Experiment"):
        fs.load(small())  # type: ignore[arg-type]


def test_experiments_are_run_before_they_are_compared() -> None:
    experiment = fs.Experiment(small())
    with pytest.raises(TypeError, match=r"write fs.compare\(old.run\(\), new.run\(\)\)"):
        fs.compare(experiment, experiment)  # type: ignore[arg-type]


def test_one_text_is_a_list_of_one() -> None:
    slow, fast = {"batches": {"size": 1}}, {"batches": {"size": 4}}
    experiment = fs.Experiment(small(strategies={"slow": slow, "batches": fast}))
    assert experiment.plan(limits="peak_pulls < 10", causes=False).best == "batches"
    results = experiment.run(causes=False, replicates=1)
    one = results.plot.egress(variants="batches")
    assert one.svg == results.plot.egress(variants=["batches"]).svg
    assert results.runs.to_latex("variant") == results.runs.to_latex(["variant"])


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(fs.InvalidExperiment, match="EXPERIMENT must be a folder with `experiment.yaml`"):
        fs.load(tmp_path / "missing")
