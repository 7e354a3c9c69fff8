"""What a package index and its users expect of the wheel."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import fleetsim as fs
import pytest
from conftest import IN_CI, ROOT


def distribution() -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution("fleetsim")
    except importlib.metadata.PackageNotFoundError:
        if IN_CI:
            raise
        pytest.skip("the package is not installed from a wheel")


def locked(file: Path) -> dict[str, set[str]]:
    """The versions of each crate in a Cargo.lock."""
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', file.read_text()):
        versions.setdefault(name, set()).add(version)
    return versions


def test_the_wheel_has_licences_types_and_the_command() -> None:
    found = distribution()
    files = {str(file).rpartition("/")[2] for file in found.files or []}
    assert {"LICENSE", "THIRD-PARTY-LICENCES", "py.typed", "_fleetsim.pyi"} <= files
    assert not any("test" in name for name in files)
    scripts = {entry.name: entry.value for entry in found.entry_points if entry.group == "console_scripts"}
    assert scripts == {"fleetsim": "fleetsim.__main__:main"}
    metadata = found.metadata
    assert metadata["Version"] == fs.__version__ and metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert found.requires is None or all("extra ==" in requirement for requirement in found.requires)


def test_the_package_has_the_version_of_the_program() -> None:
    program = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert program is not None and program.group(1) == fs.__version__


def test_the_package_has_the_licence_of_the_program() -> None:
    assert (ROOT / "python/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_package_has_the_dependencies_of_the_program() -> None:
    program, package = locked(ROOT / "Cargo.lock"), locked(ROOT / "python/Cargo.lock")
    shared = program.keys() & package.keys()
    assert "clap" in shared and "rayon" in shared
    different = {name: (program[name], package[name]) for name in shared if not package[name] <= program[name]}
    assert not different, "copy Cargo.lock to python/Cargo.lock and build again"


def test_the_stubs_have_what_the_module_has() -> None:
    from fleetsim import _fleetsim

    stub = (Path(fs.__file__).parent / "_fleetsim.pyi").read_text()
    names = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    own = {name for name in dir(_fleetsim) if not name.startswith("__")}
    assert names == own
    for name in names:
        value = getattr(_fleetsim, name)
        if isinstance(value, type):
            body = stub.partition(f"class {name}:")[2].partition("\nclass ")[0]
            members = set(re.findall(r"    def (\w+)", body)) - {"__init__"}
            assert members <= set(dir(value)), name
            public = {member for member in vars(value) if not member.startswith("_")}
            assert public <= members, f"{name}: {public - members}"
