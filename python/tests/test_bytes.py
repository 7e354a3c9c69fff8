"""Results are byte for byte those of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import fleetsim as fs
import pytest
from conftest import ROOT, checksums, run_program, small

EXPERIMENT = "experiments/06-max-unavailable-sweep"
SETTINGS = ["--set", "registry.egress=5 Gbit/s", "--set", "clusters=50", "--replicates", "2"]


@pytest.fixture(scope="module")
def by_program(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("program") / "results"
    done = run_program("run", EXPERIMENT, *SETTINGS, "--out", str(out))
    assert done.returncode in (0, 99), done.stderr
    return checksums(out)


@pytest.fixture
def experiment(monkeypatch: pytest.MonkeyPatch) -> fs.Experiment:
    monkeypatch.chdir(ROOT)
    return fs.load(EXPERIMENT).set("registry.egress", "5 Gbit/s").set("clusters", 50)


def test_a_saved_study_equals_that_of_the_program(
    experiment: fs.Experiment, by_program: dict[str, str], tmp_path: Path
) -> None:
    results = experiment.run(replicates=2)
    assert not (results.folder / "charts").exists(), "charts are drawn when they are asked for"
    assert checksums(results.save(tmp_path / "saved")) == by_program


def test_a_study_with_a_folder_equals_that_of_the_program(
    experiment: fs.Experiment, by_program: dict[str, str], tmp_path: Path
) -> None:
    results = experiment.run(replicates=2, out=tmp_path / "out", threads=1)
    assert checksums(results.folder) == by_program
    results.save(tmp_path / "out", replace=True)
    assert checksums(results.folder) == by_program, "saving to the same place changes nothing"


def test_the_command_of_the_wheel_equals_the_program(by_program: dict[str, str], tmp_path: Path) -> None:
    words = [sys.executable, "-m", "fleetsim", "run", EXPERIMENT, *SETTINGS, "--out", str(tmp_path / "out")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 99), done.stderr
    assert checksums(tmp_path / "out") == by_program


def test_the_script_is_installed() -> None:
    script = Path(sys.executable).with_name("fleetsim")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert done.stdout == f"fleetsim {fs.__version__}\n", done.stderr


def test_a_dictionary_equals_a_file_with_the_same_text(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps(small(), indent=2) + "\n")
    of_file = fs.load(file).run(out=tmp_path / "of-file")
    of_dictionary = fs.Experiment(small()).run(out=tmp_path / "of-dictionary")
    assert checksums(of_dictionary.folder) == checksums(of_file.folder)


def test_texts_are_those_of_the_program(experiment: fs.Experiment) -> None:
    asked = [EXPERIMENT, "--set", "registry.egress=5 Gbit/s", "--set", "clusters=50"]
    assert str(experiment.explain()) == run_program("explain", *asked).stdout
    first = fs.load("experiments/01-max-unavailable")
    assert str(first.check()) == run_program("check", "--all", "experiments/01-max-unavailable").stdout


def test_shards_merge_to_the_whole(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps(small(), indent=2) + "\n")
    experiment = fs.load(file)
    whole = experiment.run(out=tmp_path / "whole")
    for shard in ("1/2", "2/2"):
        experiment.shard(shard, out=tmp_path / "parts")
    merged = fs.merge(tmp_path / "parts", experiment=file, out=tmp_path / "merged")
    assert checksums(merged.folder) == checksums(whole.folder)
