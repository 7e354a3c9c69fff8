"""Plans, analyses, explanations, forecasts and comparisons, compared with the command."""

from __future__ import annotations

import json
from pathlib import Path

import fleetsim as fs
import pytest
from conftest import ROOT, run_program, small


def test_a_plan_is_that_of_the_program(tmp_path: Path) -> None:
    experiment = small(
        strategies={"batches": {"batches": {"size": 4}}},
        plan={"limits": ["peak_pulls <= 10"], "search": {"strategies.batches.batches.size": [2, 4, 8, 12]}},
    )
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps(experiment))
    done = run_program("plan", str(file), "--out", str(tmp_path / "plan"))
    plan = fs.load(file).plan()
    assert plan.text == done.stdout and plan.is_decided == (done.returncode == 0)
    assert plan.record == json.loads((tmp_path / "plan/plan.json").read_text())
    assert plan.best is not None and "8" in plan.best
    assert plan.plot.names and plan.plot.all()[0].svg.startswith("<svg")
    tighter = fs.load(file).plan(limits=["peak_pulls <= 3"])
    assert tighter.best is not None and "2" in tighter.best


def test_a_limit_on_the_registry_can_be_planned_for() -> None:
    experiment = small(
        strategies={"batches": {"batches": {"size": 4}}},
        sweep={"strategies.batches.batches.size": [2, 4, 12]},
    )
    of_dictionary = fs.Experiment(experiment)
    # Twelve links of 50 Mbit/s exceed 300 Mbit/s, and four do not.
    plan = of_dictionary.plan(limits=["registry.egress_p99 < 300 Mbit/s"], causes=False)
    assert plan.best is not None and "4" in plan.best, plan.text
    assert of_dictionary.plan(limits=["registry.egress_p99 < 8 Gbit/s"], causes=False).best == "batches size=12"


def test_a_sensitivity_analysis_has_its_record_and_tables() -> None:
    experiment = fs.Experiment(small())
    constants = ["registry.rtt"] if "registry.rtt" in experiment.resolved else []
    analysis = experiment.sensitivity(budget=None, constants=constants, replicates=2) if constants else None
    analysis = analysis or experiment.sensitivity(replicates=1, variants=["batches"])
    assert analysis.text and analysis.record and analysis.tables
    assert analysis.plot.names


def test_a_forecast_has_text_and_record() -> None:
    folder = ROOT / "examples/forecast"
    status = next(folder.glob("*.json"))
    experiment = fs.load(folder)
    forecast = experiment.forecast(status, draws=19)
    done = run_program("forecast", str(folder), str(status), "--draws", "19")
    assert str(forecast) == done.stdout
    assert forecast.record["schema_version"] >= 1


def test_a_comparison_names_what_changes(tmp_path: Path) -> None:
    for name, size in (("old", 4), ("new", 6)):
        experiment = small(strategies={"batches": {"batches": {"size": size}}})
        (tmp_path / f"{name}.yaml").write_text(json.dumps(experiment))
    comparison = fs.compare(tmp_path / "old.yaml", tmp_path / "new.yaml", replicates=3)
    done = run_program("compare", str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml"), "--replicates", "3")
    assert str(comparison) == done.stdout and not comparison.has_new_violation
    assert comparison.record["schema_version"] >= 1
    old = fs.load(tmp_path / "old.yaml").run(replicates=3)
    new = fs.load(tmp_path / "new.yaml").run(replicates=3)
    assert "batches" in str(fs.compare(old, new))


def test_limits_that_are_not_met_are_a_result() -> None:
    results = fs.Experiment({**small(), "assert": ["peak_pulls < 5"]}).run()
    assert not results.limits_met and "peak_pulls" in str(results.verdicts)


def test_commands_that_start_processes_need_permission() -> None:
    experiment = fs.load(ROOT / "examples/external-scheduler")
    with pytest.raises(fs.CommandFailed, match="--allow-commands"):
        experiment.run()
