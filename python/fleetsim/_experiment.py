"""Experiments: what the command line does with an experiment file, for a file or a dictionary."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetsim import _fleetsim
from fleetsim._faults import Faults
from fleetsim._results import (
    Comparison,
    Forecast,
    Plan,
    Results,
    Sensitivity,
    Text,
    _execute,
    _Folder,
)
from fleetsim._strategy import Strategy
from fleetsim._words import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Experiment", "compare", "load", "merge"]

#: A limit is exceeded, or a plan has no certain answer: a result, not a failure.
_UNDECIDED = 99


class Experiment:
    """An experiment, checked: ``fs.Experiment(dict)`` with the names of the format, or ``fs.load(path)``.

    An experiment does not change; :meth:`set` and the other methods return a new one.

    >>> import fleetsim as fs
    >>> exp = fs.Experiment({
    ...     "name": "first",
    ...     "question": "How long does it take?",
    ...     "fleet": [{"name": "site-{01..10}", "downlink": "50 Mbit/s"}],
    ...     "release": {"images": [{"name": "app", "manifest": {"layers": [{"size": "80 MB"}]}}],
    ...                 "workloads": [{"kind": "Deployment", "image": "app", "replicas": 1}]},
    ...     "strategies": {"all": {"allAtOnce": {}}},
    ... })
    >>> exp.variants
    ['all']
    >>> exp.set("registry.egress", "1 Mbit/second")
    Traceback (most recent call last):
        ...
    fleetsim._errors.InvalidExperiment: ...
    """

    def __init__(
        self, description: Mapping[str, Any] | str, *, folder: str | os.PathLike[str] | None = None
    ) -> None:
        """``description``: the experiment as a dictionary, or as the text of a file. ``folder``: the folder to which
        the names of files in it are relative, by default the current one."""
        if isinstance(description, os.PathLike) or (isinstance(description, str) and os.path.exists(description)):
            raise TypeError(f"this is a path, not an experiment: write fs.load({str(description)!r})")
        text = description if isinstance(description, str) else json.dumps(description, indent=2, ensure_ascii=False)
        name = description.get("name") if not isinstance(description, str) else None
        plain = re.sub(r"[^A-Za-z0-9-]+", "-", str(name or "experiment"))
        self._text: str | None = text + "\n"
        self._path = str(Path(folder or ".") / f"{plain}.yaml")
        self._begin()

    def _begin(self) -> None:
        self._set: list[str] = []
        self._seed: int | None = None
        self._replicates: int | None = None
        self._strategies: dict[str, Strategy] = {}
        self._faults: Faults | None = None
        self._read()

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str]) -> Experiment:
        experiment = cls.__new__(cls)
        experiment._text = None
        experiment._path = str(path)
        experiment._begin()
        return experiment

    def _copy(self) -> Experiment:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._set = list(self._set)
        copy._strategies = dict(self._strategies)
        return copy

    def _parts(self) -> _fleetsim.GuestParts:
        sources = {f"{name}.py": _source(strategy) for name, strategy in self._strategies.items()}
        if self._faults is not None:
            sources["faults.py"] = _source(self._faults)
        sources = {name: text for name, text in sources.items() if text}
        return _fleetsim.GuestParts(self._text, self._strategies, self._faults, sources)

    def _read(self) -> None:
        self._facts = _fleetsim.described(self._path, self._set, self._seed, self._replicates, self._parts())

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return str(self._facts["name"])

    @property
    def question(self) -> str:
        """The question that it answers."""
        return str(self._facts["question"])

    @property
    def variants(self) -> list[str]:
        """The labels of all variants."""
        return list(self._facts["variants"])

    @property
    def clusters(self) -> int:
        """The number of clusters of the largest fleet."""
        return int(self._facts["clusters"])

    @property
    def replicates(self) -> int:
        """The number of runs of each variant."""
        return int(self._facts["replicates"])

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return int(self._facts["seed"])

    @property
    def resolved(self) -> str:
        """Every setting in force with its origin, as YAML."""
        return str(self._facts["resolved"])

    def set(self, path: str | Mapping[str, Any], value: Any = None) -> Experiment:
        """Changes settings, as ``--set PATH=VALUE`` does: ``exp.set("registry.egress", "5 Gbit/s")``, or a mapping of
        paths to values. Values are text as in a file, numbers, booleans, lists or dictionaries."""
        changes = {path: value} if isinstance(path, str) else dict(path)
        changed = self._copy()
        for name, new in changes.items():
            changed._put(name, new)
        changed._read()
        return changed

    def with_seed(self, seed: int) -> Experiment:
        """The experiment with another seed."""
        changed = self._copy()
        changed._seed = seed
        changed._read()
        return changed

    def with_strategy(self, name: str, strategy: Strategy) -> Experiment:
        """Adds a strategy in Python under this name. It decides in this process, without a pipe."""
        _check_guest("strategy", strategy, Strategy)
        changed = self._copy()
        module, cls = type(strategy).__module__, type(strategy).__qualname__
        external: dict[str, Any] = {"command": [f"python:{module}.{cls}"]}
        settings = {key: str(value) for key, value in vars(strategy).items() if _is_plain(value)}
        if settings:
            external["settings"] = settings
        changed._strategies[name] = strategy
        changed._put(f"strategies.{name}", {"external": external})
        changed._read()
        return changed

    def with_faults(self, faults: Faults) -> Experiment:
        """Adds a failure model in Python to the faults of the experiment."""
        _check_guest("failure model", faults, Faults)
        changed = self._copy()
        changed._faults = faults
        changed._read()
        return changed

    def _put(self, path: str, value: Any) -> None:
        """Sets a value. It replaces an earlier one of the same path."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        self._set = [change for change in self._set if change.partition("=")[0] != path]
        self._set.append(f"{path}={text}")

    def _words(self, command: str, *more: str) -> list[str]:
        words = ["fleetsim", command, self._path]
        for change in self._set:
            words += ["--set", change]
        if self._seed is not None:
            words += ["--seed", str(self._seed)]
        return [*words, *more]

    def _execute(
        self,
        words: list[str],
        *,
        sketch: bool = False,
        permitted: Sequence[int] = (),
        progress: bool | Callable[[int, int], None] = False,
    ) -> _fleetsim.CommandOutput:
        return _execute(words, self._parts(), sketch=sketch, permitted=permitted, progress=progress)

    def check(self) -> Text:
        """Reports whether the experiment is valid, and valid settings that may surprise."""
        return Text(self._execute(self._words("check", "--all")).out)

    def explain(self) -> Text:
        """Shows how each strategy would treat the fleet, without simulating."""
        return Text(self._execute(self._words("explain")).out)

    def run(
        self,
        *,
        replicates: int | None = None,
        threads: int | None = None,
        out: str | os.PathLike[str] | None = None,
        replace: bool = False,
        progress: bool | Callable[[int, int], None] = False,
        causes: bool = True,
        memory: str | None = None,
        allow_commands: bool = False,
    ) -> Results:
        """Simulates every variant, as ``fleetsim run`` does, and returns the results.

        ``replicates``: the number of runs of each variant. ``threads``: by default all cores; it does not change the
        results. ``out``: a folder for the results, with charts and page; finished runs are then saved, so that the same
        call resumes an interrupted study. ``progress``: show progress, or a function of the finished and all runs.
        ``causes``: find what holds the recommended variants back. A limit that is not met does not raise: see
        ``r.limits_met``.
        """
        more: list[str] = []
        if not causes:
            more += ["--no-causes"]
        if replicates is not None:
            more += ["--replicates", str(replicates)]
        folder = _Folder.temporary() if out is None else _Folder(Path(out), temporary=False)
        more += ["--out", str(folder.path), *_machine(threads, memory, allow_commands)]
        if replace:
            more += ["--replace"]
        words = self._words("run", *more)
        done = self._execute(words, sketch=out is None, permitted=[_UNDECIDED], progress=progress)
        return Results(folder, done.err, done.out)

    def shard(
        self,
        share: str,
        *,
        out: str | os.PathLike[str],
        replicates: int | None = None,
        threads: int | None = None,
        causes: bool = True,
        progress: bool | Callable[[int, int], None] = False,
        memory: str | None = None,
        allow_commands: bool = False,
    ) -> Path:
        """Simulates a share of the runs of :meth:`run`, such as ``"1/4"``, into the folder ``out`` of all shards.

        :func:`merge` makes the results of all shards. Call it with the same settings on every machine.
        """
        more = [] if causes else ["--no-causes"]
        if replicates is not None:
            more += ["--replicates", str(replicates)]
        more += ["--shard", share, "--out", str(out), *_machine(threads, memory, allow_commands)]
        self._execute(self._words("run", *more), progress=progress)
        return Path(out)

    def plan(
        self,
        *,
        limits: str | Sequence[str] | None = None,
        minimise: str | None = None,
        search: Mapping[str, Any] | None = None,
        replicates: int | None = None,
        threads: int | None = None,
        progress: bool | Callable[[int, int], None] = False,
        causes: bool = True,
        memory: str | None = None,
        allow_commands: bool = False,
    ) -> Plan:
        """Finds the fastest setting that meets the limits, as ``fleetsim plan`` does.

        ``limits``, ``minimise`` and ``search`` replace those of the experiment's ``plan``.
        """
        asked: Experiment = self
        all_limits = None if limits is None else listed(limits)
        for name, value in (("limits", all_limits), ("minimise", minimise), ("search", search)):
            if value is not None:
                asked = asked._copy()
                asked._put(f"plan.{name}", value)
        _fleetsim.described(asked._path, asked._set, asked._seed, None, asked._parts(), plan=True)
        folder = _Folder.temporary()
        more = ["--out", str(folder.path), *_machine(threads, memory, allow_commands)]
        if replicates is not None:
            more += ["--replicates", str(replicates)]
        if not causes:
            more += ["--no-causes"]
        words = asked._words("plan", *more)
        done = asked._execute(words, sketch=True, permitted=[_UNDECIDED], progress=progress)
        plan = Plan(folder, done.err, done.out)
        plan.is_decided = done.code == 0
        return plan

    def sensitivity(
        self,
        *,
        budget: int | None = None,
        constants: str | Sequence[str] = (),
        variants: str | Sequence[str] = (),
        minimise: str | None = None,
        limits: str | Sequence[str] = (),
        measures: str | Sequence[str] = (),
        replicates: int | None = None,
        threads: int | None = None,
        progress: bool | Callable[[int, int], None] = False,
        memory: str | None = None,
        allow_commands: bool = False,
    ) -> Sensitivity:
        """Shows how much each constant of the model matters, and which decisions it changes."""
        folder = _Folder.temporary()
        more = ["--out", str(folder.path), *_machine(threads, memory, allow_commands)]
        if replicates is not None:
            more += ["--replicates", str(replicates)]
        if budget is not None:
            more += ["--budget", str(budget)]
        if minimise is not None:
            more += ["--minimise", minimise]
        for option, values in (
            ("--constant", constants),
            ("--variant", variants),
            ("--limit", limits),
            ("--measure", measures),
        ):
            for value in listed(values):
                more += [option, value]
        words = self._words("sensitivity", *more)
        done = self._execute(words, sketch=True, progress=progress)
        return Sensitivity(folder, done.err, done.out)

    def forecast(
        self,
        *status: str | os.PathLike[str],
        now: str | None = None,
        released: str | None = None,
        variant: str | None = None,
        draws: int | None = None,
        threads: int | None = None,
        progress: bool | Callable[[int, int], None] = False,
    ) -> Forecast:
        """Says when a rollout in progress will be done, from files with the state that the product shows."""
        more = [str(file) for file in status]
        for option, value in (("--now", now), ("--released", released), ("--variant", variant)):
            if value is not None:
                more += [option, value]
        if draws is not None:
            more += ["--draws", str(draws)]
        if threads is not None:
            more += ["--threads", str(threads)]
        done = self._execute(self._words("forecast", *more), progress=progress)
        return Forecast(done.out, done.record, done.err)

    def __repr__(self) -> str:
        return f"<fleetsim experiment {self.name}: {len(self.variants)} variants, {self.clusters} clusters>"

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)


def load(path: str | os.PathLike[str]) -> Experiment:
    """Reads and checks an experiment: a folder with an ``experiment.yaml``, or a file.

    >>> import fleetsim as fs
    >>> fs.load("no-such-folder")
    Traceback (most recent call last):
        ...
    fleetsim._errors.InvalidExperiment: ...
    """
    if isinstance(path, dict):
        raise TypeError("fs.load takes a path: write fs.Experiment({…}) for a dictionary")
    return Experiment._of_file(path)


def compare(
    old: str | os.PathLike[str] | Results,
    new: str | os.PathLike[str] | Results,
    *,
    replicates: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    causes: bool = True,
    progress: bool | Callable[[int, int], None] = False,
) -> Comparison:
    """Shows what a change makes different. Each version is an experiment's path, ``REVISION:PATH`` of a git repository,
    a folder of results, or :class:`Results`."""
    places = [_version(old), _version(new)]
    words = ["fleetsim", "compare", *places]
    for option, value in (("--replicates", replicates), ("--seed", seed), ("--threads", threads)):
        if value is not None:
            words += [option, str(value)]
    if not causes:
        words += ["--no-causes"]
    done = _execute(words, _no_parts(), sketch=True, permitted=[_UNDECIDED], progress=progress)
    comparison = Comparison(done.out, done.record, done.err)
    comparison.has_new_violation = done.code == _UNDECIDED
    return comparison


def _version(version: str | os.PathLike[str] | Results) -> str:
    """The path of a version to compare."""
    if isinstance(version, Results):
        return str(version.folder)
    if isinstance(version, Experiment):
        raise TypeError("compare results or paths, not experiments: write fs.compare(old.run(), new.run())")
    return str(version)


def merge(
    shards: str | os.PathLike[str],
    *,
    experiment: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str],
    threads: int | None = None,
) -> Results:
    """Makes the results of a study from the shards that several machines or processes have simulated."""
    words = ["fleetsim", "merge", str(shards), "--out", str(out)]
    if experiment is not None:
        words += ["--experiment", str(experiment)]
    if threads is not None:
        words += ["--threads", str(threads)]
    done = _execute(words, _no_parts(), permitted=[_UNDECIDED])
    return Results(_Folder(Path(out), temporary=False), done.err, done.out)


def _no_parts() -> _fleetsim.GuestParts:
    return _fleetsim.GuestParts(None, {}, None, {})


def _machine(threads: int | None, memory: str | None, allow_commands: bool) -> list[str]:
    """Options for the machine, which change no result."""
    words = []
    if threads is not None:
        words += ["--threads", str(threads)]
    if memory is not None:
        words += ["--memory", memory]
    if allow_commands:
        words += ["--allow-commands"]
    return words


def _check_guest(name: str, guest: object, wanted: type) -> None:
    """Refuses what is not an object of such a class, before any run fails with it."""
    if isinstance(guest, wanted):
        return
    if isinstance(guest, type) and issubclass(guest, wanted):
        raise TypeError(f"a {name} must be an object, not the class; write {guest.__name__}(…)")
    found = type(guest).__name__
    raise TypeError(f"a {name} must be an object of a subclass of fs.{wanted.__name__}, not {found}")


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float))


def _source(guest: object) -> str:
    """The source of a guest's class, for the results. Empty: it is not known, as in an interactive session."""
    try:
        return inspect.getsource(type(guest))
    except (OSError, TypeError):
        return ""
