"""Tables of results: read once from the files that the program writes, and handed to the library that you use."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetsim import _fleetsim
from fleetsim._words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    import polars as pl

__all__ = ["Table"]

#: Endings of the names of columns, and the unit in print.
_UNITS = {
    "_bytes_per_s": "B/s",
    "_per_s": "1/s",
    "_hours": "h",
    "_bytes": "B",
    "_share": "",
    "_s": "s",
}
_LATEX = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


class Table:
    """A table of results, such as ``r.summary``.

    It behaves like the pandas DataFrame that :meth:`pandas` returns: ``r.summary["median"]``, ``r.summary.head()`` and
    ``len(r.summary)`` work, and pandas is imported when they are used. :meth:`polars` and :meth:`arrow` do not need
    pandas. Any library that reads the Arrow PyCapsule interface takes the table as it is:
    ``pyarrow.table(r.summary)``, ``polars.DataFrame(r.summary)``, ``duckdb.sql("select * from summary")``.
    """

    def __init__(self, name: str, file: Path, latex: str | None = None) -> None:
        self._name = name
        self._file = file
        self._latex = latex
        self._bytes = file.read_bytes()
        self._columns: _fleetsim.ArrowTable | None = None
        self._frame: pd.DataFrame | None = None

    @property
    def name(self) -> str:
        """The name of the table."""
        return self._name

    @property
    def csv(self) -> bytes:
        """The file of the results folder, byte for byte."""
        return self._bytes

    def arrow(self) -> _fleetsim.ArrowTable:
        """The table as columns of Arrow, which other libraries take over without copying."""
        if self._columns is None:
            self._columns = _fleetsim.ArrowTable(str(self._file))
        return self._columns

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.arrow().__arrow_c_schema__()

    def polars(self) -> pl.DataFrame:
        """The table as a Polars DataFrame. pandas is not imported."""
        import polars as pl

        return pl.DataFrame(self.arrow())

    def pandas(self) -> pd.DataFrame:
        """The table as a pandas DataFrame, as ``pandas.read_csv`` reads the file: an empty field is NaN."""
        if self._frame is None:
            import pandas as pd

            # From version 3 on, pandas reads numbers exactly without being asked.
            exact: dict[str, Any] = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
            self._frame = pd.read_csv(io.BytesIO(self._bytes), keep_default_na=False, na_values=[""], **exact)
        return self._frame

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.arrow().column_names

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Rows as tuples of plain Python values, of these columns or of all. Needs no other library."""
        table = self.arrow()
        names = table.column_names
        wanted = list(columns) if columns else names
        for name in wanted:
            if name not in names:
                raise KeyError(f"{self._name} has no column {name!r}; its columns are {', '.join(names)}")
        types = dict(zip(names, table.column_types, strict=True))
        reader = csv.DictReader(io.StringIO(self._bytes.decode()))
        return [tuple(_value(row[name], types[name]) for name in wanted) for row in reader]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Rows as dictionaries of plain Python values. Needs no other library."""
        names = self.columns
        return [dict(zip(names, row, strict=True)) for row in self.rows()]

    def to_latex(self, columns: str | Sequence[str] | None = None) -> str:
        """The table for LaTeX, with readable names and units; it needs no package.

        For ``r.summary`` without ``columns``, it is the program's own table of the comparison, as in ``table.tex`` of
        ``fleetsim report --width``.
        """
        if columns is None and self._latex is not None:
            return self._latex
        names = listed(columns) if columns else self.columns
        heads, units = zip(*(_head(name) for name in names), strict=True)
        types = dict(zip(self.columns, self.arrow().column_types, strict=True))
        align = "".join("l" if types.get(name) == "string" else "r" for name in names)
        lines = [f"\\begin{{tabular}}{{{align}}}", r"\hline", _line(heads)]
        if any(units):
            lines.append(_line(units))
        lines.append(r"\hline")
        lines += [_line(_cell(value) for value in row) for row in self.rows(*names)]
        lines += [r"\hline", r"\end{tabular}"]
        return "\n".join(lines) + "\n"

    def __len__(self) -> int:
        return self.arrow().num_rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, key: Any) -> Any:
        return self.pandas()[key]

    def __getattr__(self, name: str) -> Any:
        # Called only for names that a table lacks, so that the frame's own methods work on it.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.pandas(), name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._name, self._bytes, self._latex)

    def __repr__(self) -> str:
        return f"<fleetsim table {self._name}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        most = 20
        head = "".join(f"<th>{_escaped(name)}</th>" for name in self.columns)
        rows = self.rows()
        body = "".join(
            "<tr>" + "".join(f"<td>{_escaped(_shown(value))}</td>" for value in row) + "</tr>" for row in rows[:most]
        )
        more = f"<p>{len(rows)} rows, {len(self.columns)} columns</p>"
        return f'<table class="dataframe"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _restored(name: str, data: bytes, latex: str | None) -> Table:
    """Makes a table again in another process."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.csv"
        file.write_bytes(data)
        table = Table(name, file, latex)
        table.arrow()
    return table


def _value(text: str, kind: str) -> Any:
    if text == "":
        return None
    if kind == "bool":
        return text == "true"
    if kind == "int64":
        return int(text)
    if kind == "double":
        return float(text)
    return text


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _head(name: str) -> tuple[str, str]:
    """A readable name and the unit of a column."""
    for ending, unit in _UNITS.items():
        if name.endswith(ending):
            return name[: -len(ending)].replace("_", " "), unit
    return name.replace("_", " "), ""


def _cell(value: Any) -> str:
    if value is None:
        return "--"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _line(cells: Any) -> str:
    escaped = ("".join(_LATEX.get(letter, letter) for letter in cell) for cell in cells)
    return " & ".join(escaped) + r" \\"
