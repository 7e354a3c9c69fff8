"""Results of a study, a plan, an analysis, a forecast or a comparison."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetsim import _fleetsim
from fleetsim._errors import FleetsimError
from fleetsim._plot import Plots
from fleetsim._table import Table, _escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Answer", "Comparison", "Forecast", "Plan", "Results", "Sensitivity", "Text", "read"]

_WIDTH = 100
#: How a notebook lays the parts of an answer out: each beside its name.
_STYLE = """<style>
.fleetsim-answer dl { margin: 0.3em 0 }
.fleetsim-answer dl > div { display: flex; gap: 0.8em }
.fleetsim-answer dt { flex: 0 0 4em; opacity: 0.65 }
.fleetsim-answer dd { margin: 0 }
</style>
"""


class Text:
    """A text of the program. A notebook and ``print`` show it as the command line does."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        return f'<pre style="font-family: monospace; white-space: pre; overflow-x: auto">{_escaped(self.text)}</pre>'


class Answer(Text):
    """The answer of a study. A notebook shows it as the results page does."""

    def __init__(self, folder: str) -> None:
        super().__init__(_fleetsim.table_text(folder, _WIDTH, False))
        self._folder = folder
        self._html = _fleetsim.answer_html(folder)
        self._json = _fleetsim.comparison_json(folder)

    @property
    def json(self) -> dict[str, Any]:
        """The comparison for programs, as ``fleetsim run --format json`` prints it."""
        record: dict[str, Any] = json.loads(self._json)
        return record

    def _repr_html_(self) -> str:
        return _STYLE + self._html


class _Folder:
    """A folder with files that the program has written. A temporary folder is removed with its last user."""

    def __init__(self, path: Path, *, temporary: bool) -> None:
        self.path = path
        if temporary:
            self._finalizer = weakref.finalize(self, shutil.rmtree, str(path.parent), True)

    @classmethod
    def temporary(cls) -> _Folder:
        """A new folder that does not exist yet, in a temporary one."""
        return cls(Path(tempfile.mkdtemp(prefix="fleetsim-")) / "results", temporary=True)


class _Written:
    """Results in a folder: the tables, charts and texts that all kinds of results have."""

    def __init__(self, folder: _Folder, notes: str = "", text: str = "") -> None:
        self._folder = folder
        #: Notes of the program about this study, such as guessed settings.
        self.notes = notes
        self._text = text
        self._tables: dict[str, Table] = {}

    @property
    def folder(self) -> Path:
        """The folder with the files."""
        return self._folder.path

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return sorted(file.stem for file in self.folder.glob("*.csv"))

    def table(self, name: str) -> Table:
        """A table by its name; ``docs/results-format.md`` documents each column."""
        if name not in self._tables:
            file = self.folder / f"{name}.csv"
            if not file.exists():
                raise FleetsimError(f"these results have no table {name!r}; they have {', '.join(self.tables)}")
            self._tables[name] = Table(name, file, self._latex(name))
        return self._tables[name]

    def _latex(self, name: str) -> str | None:
        return None

    @property
    def plot(self) -> Plots:
        """The program's charts, such as ``r.plot.tradeoff()``."""
        return Plots(str(self.folder), None)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the results come from: command, inputs, settings, versions."""
        record: dict[str, Any] = json.loads((self.folder / "provenance.json").read_bytes())
        return record

    @property
    def resolved(self) -> str:
        """Every setting in force with its origin, as YAML."""
        return (self.folder / "resolved.yaml").read_text(encoding="utf-8")

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Writes the results folder with charts and page, byte for byte as the command does."""
        to = Path(folder)
        if to.exists() and not replace:
            raise FileExistsError(f"{to} exists; write save({str(folder)!r}, replace=True) to replace it")
        if to.resolve() == self.folder.resolve():
            return to
        if to.exists():
            shutil.rmtree(to)
        shutil.copytree(self.folder, to)
        no_guests = _fleetsim.GuestParts(None, {}, None, {})
        _fleetsim.execute(["fleetsim", "report", str(to)], no_guests, sketch=False, permitted=[])
        return to


class Results(_Written):
    """The results of a study: ``r.answer``, tables such as ``r.summary``, and charts such as ``r.plot.tradeoff()``."""

    @property
    def summary(self) -> Table:
        """Every measure of every variant over its runs: means, medians, intervals and paired differences."""
        return self.table("summary")

    @property
    def comparison(self) -> Table:
        """Which variants may be the best."""
        return self.table("comparison")

    @property
    def runs(self) -> Table:
        """Every run: one row per variant and replicate."""
        return self.table("runs")

    @property
    def variants(self) -> Table:
        """Every variant with its swept settings, one column each."""
        return self.table("variants")

    @property
    def timeline(self) -> Table:
        """The displayed run of every variant over time, with percentiles of all runs."""
        return self.table("timeline")

    @property
    def clusters(self) -> Table:
        """The clusters of every variant's displayed run."""
        return self.table("clusters")

    @property
    def registries(self) -> Table:
        """Every registry, mirror, cache and region link of every run."""
        return self.table("registries")

    @property
    def applications(self) -> Table:
        """Every application of every run, if the experiment has several."""
        return self.table("applications")

    @property
    def releases(self) -> Table:
        """Every release of every run, if the experiment has later releases or an operator."""
        return self.table("releases")

    @property
    def passes(self) -> Table:
        """The passes of the scheduler in every variant's displayed run."""
        return self.table("passes")

    @property
    def causes(self) -> Table:
        """What holds the recommended variants back, found by trials."""
        return self.table("causes")

    @property
    def uncertainty(self) -> Table:
        """The intervals with drawn constants, if the experiment asks for them."""
        return self.table("uncertainty")

    @property
    def answer(self) -> Answer:
        """The answer to the experiment's question."""
        return Answer(str(self.folder))

    @property
    def details(self) -> Text:
        """The answer with the sentences behind it, and the intervals of all variants."""
        return Text(_fleetsim.table_text(str(self.folder), _WIDTH, True))

    @property
    def limits_met(self) -> bool:
        """Whether the results meet every limit that the experiment asserts."""
        return _fleetsim.verdicts(str(self.folder))[0]

    @property
    def verdicts(self) -> Text:
        """The verdict on every asserted limit."""
        return Text(_fleetsim.verdicts(str(self.folder))[1])

    @property
    def plot(self) -> Plots:
        """The program's charts, such as ``r.plot.tradeoff()``; ``r.plot.names`` lists them."""
        return Plots(str(self.folder), self)

    def to_latex(self) -> str:
        """The comparison as a LaTeX table."""
        return _fleetsim.latex(str(self.folder))

    def _latex(self, name: str) -> str | None:
        return self.to_latex() if name == "summary" else None

    def _repr_html_(self) -> str:
        return self.answer._repr_html_()

    def __repr__(self) -> str:
        record = self.provenance
        return f"<fleetsim results of {record['experiment']}: {len(self.runs)} runs>"


class _Record(_Written):
    """Results that are a record and a text."""

    _file = ""

    @property
    def record(self) -> dict[str, Any]:
        """The record for programs."""
        record: dict[str, Any] = json.loads((self.folder / self._file).read_bytes())
        return record

    @property
    def text(self) -> str:
        """The record in words, as the command prints it."""
        return self._text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text.rstrip("\n")

    def _repr_html_(self) -> str:
        return Text(self._text)._repr_html_()


class Plan(_Record):
    """The fastest settings that meet the limits: ``plan.questions``, and the text of the command."""

    _file = "plan.json"
    #: Whether the runs show the best setting for every question.
    is_decided = False

    @property
    def questions(self) -> list[dict[str, Any]]:
        """Each question with its candidates and its best setting."""
        questions: list[dict[str, Any]] = self.record["questions"]
        return questions

    @property
    def best(self) -> str | None:
        """The best variant of the first question; ``None`` if no setting meets every limit."""
        best: str | None = self.questions[0].get("best")
        return best


class Sensitivity(_Record):
    """How much each constant of the model matters, and which decisions it changes."""

    _file = "sensitivity.json"


class _InMemory(Text):
    """A record and its text, without files."""

    def __init__(self, text: str, record: str, notes: str) -> None:
        super().__init__(text)
        #: The record for programs.
        self.record: dict[str, Any] = json.loads(record)
        #: Notes of the program.
        self.notes = notes


class Forecast(_InMemory):
    """When a rollout in progress will be done."""


class Comparison(_InMemory):
    """What a change makes different. ``has_new_violation``: a limit holds before the change and not after it."""

    has_new_violation = False


def read(folder: str | Path) -> Results:
    """Reads results that the command line or :meth:`Experiment.run` has written to a folder."""
    path = Path(folder)
    if not (path / "provenance.json").exists():
        raise FileNotFoundError(f"{path} has no results; run an experiment with --out or out= first")
    return Results(_Folder(path, temporary=False))


class _Line:
    """Shows progress on one line of stderr, which is cleared at the end."""

    def __init__(self) -> None:
        self._shown = 0

    def __call__(self, done: int, wanted: int) -> None:
        if wanted:
            self._show(f"{done:,} of {wanted:,} runs")

    def clear(self) -> None:
        """Removes the line."""
        if self._shown:
            self._show("")
            print("\r", end="", file=sys.stderr, flush=True)

    def _show(self, text: str) -> None:
        print("\r" + text.ljust(self._shown), end="", file=sys.stderr, flush=True)
        self._shown = len(text)


def _execute(
    words: list[str],
    parts: _fleetsim.GuestParts,
    *,
    sketch: bool = False,
    permitted: Sequence[int] = (),
    progress: bool | Callable[[int, int], None] = False,
) -> _fleetsim.CommandOutput:
    """Runs a command. ``progress``: a function of the finished and all runs, or whether to show a line on stderr."""
    line = _Line() if progress is True else None
    report = progress if callable(progress) else line
    try:
        return _fleetsim.execute(words, parts, sketch=sketch, permitted=list(permitted), report=report)
    finally:
        if line is not None:
            line.clear()
