"""Charts: the program's own, and data for charts that you want to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fleetsim import _fleetsim
from fleetsim._errors import FleetsimError
from fleetsim._words import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from fleetsim._results import Results

__all__ = ["Chart", "Plots"]

Width = Literal["column", "page", "slide"]


class Chart:
    """A chart of the program. A notebook shows it; :meth:`save` writes it as SVG, PNG or PDF."""

    def __init__(self, chart: _fleetsim.Chart, results: Results | None) -> None:
        self._chart = chart
        self._results = results
        #: The name of the chart, such as ``tradeoff``.
        self.name = chart.name
        #: The title, which serves as a caption.
        self.title = chart.title

    @property
    def svg(self) -> str:
        """The chart as SVG."""
        return self._chart.svg()

    def png(self) -> bytes:
        """The chart as PNG, at twice its size."""
        return self._chart.png()

    def pdf(self) -> bytes:
        """The chart as a PDF of one page, in its width in print."""
        return self._chart.pdf()

    def save(self, path: str | Path) -> Path:
        """Writes the chart to a file; its ending says whether as SVG, PNG or PDF."""
        path = Path(path)
        makers = {".svg": lambda: self.svg.encode(), ".png": self.png, ".pdf": self.pdf}
        if path.suffix not in makers:
            raise ValueError(f"the name must end in .svg, .png or .pdf, not {path.suffix!r}")
        path.write_bytes(makers[path.suffix]())
        return path

    def altair(self) -> alt.Chart:
        """The same data as an Altair chart, to change it. Needs ``altair``."""
        if self._results is None or self.name not in _ALTAIR:
            names = ", ".join(sorted(_ALTAIR))
            raise FleetsimError(f"the chart {self.name!r} has no Altair form; these have one: {names}")
        return _ALTAIR[self.name](self._results)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<fleetsim chart {self.name}: {self.title}>"


class Plots:
    """The charts of results: ``r.plot.tradeoff()``, ``r.plot.egress(width="column", title=False)`` and others.

    ``r.plot.names`` lists them; a chart without content for these results is left out.
    """

    def __init__(self, folder: str, results: Results | None) -> None:
        self._folder = folder
        self._results = results

    @property
    def names(self) -> list[str]:
        """The names of the charts of these results."""
        return [chart.name for chart in self._drawn("page", True, [])]

    def _drawn(self, width: Width, title: bool, variants: list[str]) -> list[_fleetsim.Chart]:
        return _fleetsim.figures(self._folder, width, not title, variants)

    def chart(
        self, name: str, *, width: Width = "page", title: bool = True, variants: str | Sequence[str] = ()
    ) -> Chart:
        """Draws one chart.

        ``width``: a column of a paper (85 mm), a page (170 mm) or a slide. ``title``: with title, note and footer.
        ``variants``: only these, by variant, strategy, or setting such as ``maxUnavailable=25%``.
        """
        drawn = self._drawn(width, title, listed(variants))
        wanted = name.replace("_", "-")
        for chart in drawn:
            if chart.name.replace("_", "-") == wanted:
                return Chart(chart, self._results)
        names = ", ".join(chart.name for chart in drawn)
        raise FleetsimError(f"these results have no chart {name!r}; they have {names}")

    def all(self, *, width: Width = "page", title: bool = True) -> list[Chart]:
        """Draws all charts."""
        return [Chart(chart, self._results) for chart in self._drawn(width, title, [])]

    def __getattr__(self, name: str) -> _Drawer:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Drawer(self, name)

    def __dir__(self) -> list[str]:
        return ["all", "chart", "names", *(name.replace("-", "_") for name in self.names)]


class _Drawer:
    """Draws one chart when it is called."""

    def __init__(self, plots: Plots, name: str) -> None:
        self._plots = plots
        self._name = name

    def __call__(
        self, *, width: Width = "page", title: bool = True, variants: str | Sequence[str] = ()
    ) -> Chart:
        return self._plots.chart(self._name, width=width, title=title, variants=variants)


def _values(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    # Altair's own data classes have no types.
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _tradeoff(results: Results) -> alt.Chart:
    import altair as alt

    medians: dict[str, dict[str, Any]] = {}
    for variant, measure, median in results.summary.rows("variant", "measure", "median"):
        if measure in ("reachable_ready_s", "peak_pulls"):
            medians.setdefault(variant, {"variant": variant})[measure] = median
    chart: alt.Chart = (
        alt.Chart(_values(list(medians.values())))
        .mark_circle(size=80)
        .encode(
            x=alt.X("reachable_ready_s:Q", title="time until all reachable clusters are ready (s)"),
            y=alt.Y("peak_pulls:Q", title="concurrent pulls, at most"),
            color=alt.Color("variant:N", title=None),
            tooltip=["variant:N", "reachable_ready_s:Q", "peak_pulls:Q"],
        )
    )
    return chart


def _over_time(results: Results, column: str, title: str) -> alt.Chart:
    import altair as alt

    rows = [
        {"variant": variant, "t_s": t_s, column: value}
        for variant, t_s, value in results.timeline.rows("variant", "t_s", column)
    ]
    chart: alt.Chart = (
        alt.Chart(_values(rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("t_s:Q", title="time since the start (s)"),
            y=alt.Y(f"{column}:Q", title=title),
            color=alt.Color("variant:N", title=None),
        )
    )
    return chart


def _egress(results: Results) -> alt.Chart:
    return _over_time(results, "egress_bytes_per_s", "egress of the registry (B/s)")


def _pulls(results: Results) -> alt.Chart:
    return _over_time(results, "pulls", "concurrent pulls")


def _ready(results: Results) -> alt.Chart:
    return _over_time(results, "ready_new", "clusters that are ready")


def _completion(results: Results) -> alt.Chart:
    import altair as alt

    rows = [
        {"variant": variant, "reachable_ready_s": time}
        for variant, time in results.runs.rows("variant", "reachable_ready_s")
    ]
    chart: alt.Chart = (
        alt.Chart(_values(rows))
        .mark_tick()
        .encode(
            x=alt.X("reachable_ready_s:Q", title="time until all reachable clusters are ready (s)"),
            y=alt.Y("variant:N", title=None, sort=None),
        )
    )
    return chart


_ALTAIR = {
    "completion": _completion,
    "egress": _egress,
    "pulls": _pulls,
    "ready": _ready,
    "tradeoff": _tradeoff,
}
