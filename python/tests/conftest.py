"""What the tests of the package share: small experiments, and the program to compare with.

The tests run on the package as it is installed. `FLEETSIM_PROGRAM` names the program; without it, the tests that compare
with it are skipped, but never in CI.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
IN_CI = os.environ.get("CI") == "true"


def small(sites: int = 12, **changes: Any) -> dict[str, Any]:
    """A small experiment with two strategies."""
    experiment: dict[str, Any] = {
        "name": "small",
        "question": "Does the package do what the command does?",
        "replicates": 3,
        "fleet": [{"name": f"site-{{001..{sites:03}}}", "nodes": 2, "downlink": "50 Mbit/s"}],
        "registry": {"egress": "1 Gbit/s"},
        "release": {
            "images": [{"name": "app", "manifest": {"layers": [{"size": "150 MB"}, {"size": "40 MB"}]}}],
            "workloads": [{"kind": "Deployment", "image": "app", "replicas": 2, "readiness": {"period": "5 s"}}],
        },
        "faults": {"pullFailure": "1%"},
        "strategies": {"all": {"allAtOnce": {}}, "batches": {"batches": {"size": 4}}},
    }
    experiment.update(changes)
    return experiment


def checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def program() -> str:
    """The program to compare with."""
    path = os.environ.get("FLEETSIM_PROGRAM")
    if path is None:
        if IN_CI:
            pytest.fail("FLEETSIM_PROGRAM must name the program in CI")
        pytest.skip("FLEETSIM_PROGRAM does not name the program")
    return path


def run_program(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs the program."""
    return subprocess.run([program(), *words], cwd=cwd, capture_output=True, text=True, check=False)
