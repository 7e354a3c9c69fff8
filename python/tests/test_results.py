"""Tables for pandas, Polars and Arrow; answers, charts and LaTeX."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import fleetsim as fs
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from conftest import small


@pytest.fixture(scope="module")
def results() -> fs.Results:
    return fs.Experiment(small()).run()


def test_a_table_is_the_same_in_every_library(results: fs.Results) -> None:
    for name in results.tables:
        table = results.table(name)
        frame, polars, arrow = table.pandas(), table.polars(), pa.table(table)
        assert list(frame.columns) == polars.columns == arrow.column_names == table.columns
        assert len(frame) == polars.height == arrow.num_rows == len(table)
        assert arrow.to_pylist() == polars.to_dicts() == table.to_dicts(), name
        pandas_rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        for row, other in zip(pandas_rows, table.to_dicts(), strict=True):
            assert {key: value for key, value in row.items() if value is not None} == {
                key: value for key, value in other.items() if value is not None
            }, name


def test_types_are_those_of_the_columns(results: fs.Results) -> None:
    schema = results.runs.polars().schema
    assert schema["replicate"] == pl.Int64 and schema["strategy"] == pl.String
    assert schema["reachable_ready_s"] == pl.Float64
    assert results.clusters.polars().schema["offline"] == pl.Boolean
    # No run has this time, but it is one.
    assert results.clusters.polars().schema["ready_s"] == pl.Float64


def test_a_table_behaves_like_its_frame(results: fs.Results) -> None:
    peaks = results.summary[results.summary["measure"] == "peak_pulls"].set_index("variant")["median"]
    assert peaks["all"] == 12 and peaks["batches"] == 4
    assert isinstance(results.summary.head(), pd.DataFrame)
    with pytest.raises(fs.FleetsimError, match="no table 'draws'; they have"):
        results.table("draws")


def test_polars_and_arrow_do_not_import_pandas() -> None:
    code = """
import sys, fleetsim as fs
from conftest import small
r = fs.Experiment(small()).run(replicates=1)
r.summary.polars(); r.summary.arrow(); r.runs.to_dicts(); r.summary.to_latex(); r.answer; r.plot.egress()
assert "pandas" not in sys.modules and "numpy" not in sys.modules, "imported"
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def test_the_capsules_release_their_columns_once(results: fs.Results) -> None:
    arrow = results.runs.arrow()
    arrow.__arrow_c_stream__()
    first, second = pa.table(arrow), pa.table(arrow)
    del arrow
    assert first == second


def test_the_answer_is_that_of_the_program(results: fs.Results) -> None:
    assert "all" in str(results.answer) and str(results.answer) == results._text
    html = results.answer._repr_html_()
    assert '<div class="fleetsim-answer">' in html and 'class="verdict"' in html and "<script" not in html
    variants = {variant["variant"] for variant in results.answer.json["variants"]}
    assert variants == {"all", "batches"}
    assert results.limits_met
    assert "<table" in results.summary._repr_html_()


def test_charts_are_those_of_the_page(results: fs.Results, tmp_path: Path) -> None:
    folder = results.save(tmp_path / "saved")
    names = {file.stem for file in (folder / "charts").glob("*.svg")}
    assert set(results.plot.names) == names and "tradeoff" in names
    for name in names:
        chart = results.plot.chart(name)
        assert chart.svg == (folder / "charts" / f"{name}.svg").read_text()
    chart = results.plot.egress(width="column", title=False, variants=["batches"])
    assert chart.save(tmp_path / "egress.pdf").read_bytes().startswith(b"%PDF")
    assert chart.save(tmp_path / "egress.png").read_bytes().startswith(b"\x89PNG")
    assert chart._repr_svg_().startswith("<svg")
    with pytest.raises(fs.FleetsimError, match="no chart 'cost'; they have egress"):
        results.plot.cost()
    with pytest.raises(fs.FleetsimError, match="no variant is named `none`"):
        results.plot.egress(variants=["none"])
    with pytest.raises(ValueError, match="`width` must be one of column, page, slide"):
        results.plot.egress(width="poster")  # type: ignore[arg-type]


def test_charts_have_data_to_change(results: fs.Results) -> None:
    for name in ("tradeoff", "egress", "pulls", "ready", "completion"):
        if name in results.plot.names:
            specification = results.plot.chart(name).altair().to_dict()
            assert specification["data"]["values"], name
    with pytest.raises(fs.FleetsimError, match="has no Altair form"):
        results.plot.chart("states").altair()


def test_latex_has_names_and_units(results: fs.Results) -> None:
    table = results.summary.to_latex()
    assert table.startswith("\\begin{tabular}") and table == results.to_latex()
    runs = results.runs.to_latex(["variant", "replicate", "reachable_ready_s", "egress_busy_share"])
    lines = runs.splitlines()
    assert lines[0] == "\\begin{tabular}{lrrr}"
    assert lines[2] == "variant & replicate & reachable ready & egress busy \\\\"
    assert lines[3] == " &  & s &  \\\\"
    assert "_" not in runs.replace("\\_", "")


def test_results_are_read_again(results: fs.Results, tmp_path: Path) -> None:
    folder = results.save(tmp_path / "saved")
    again = fs.read(folder)
    assert again.runs.csv == results.runs.csv and str(again.answer) == str(results.answer)
    with pytest.raises(FileExistsError, match="replace=True"):
        results.save(folder)
    with pytest.raises(FileNotFoundError, match="has no results"):
        fs.read(tmp_path)


def test_tables_and_errors_travel_between_processes(results: fs.Results) -> None:
    table = pickle.loads(pickle.dumps(results.runs))
    assert table.to_dicts() == results.runs.to_dicts()
    with pytest.raises(fs.InvalidExperiment) as caught:
        fs.Experiment(small(replicates=0))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.problems == caught.value.problems


def test_a_temporary_folder_is_removed_with_its_results() -> None:
    results = fs.Experiment(small()).run(replicates=1)
    folder = results.folder
    assert folder.exists()
    del results
    assert not folder.parent.exists()
