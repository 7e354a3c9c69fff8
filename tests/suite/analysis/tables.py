"""Reports how pandas and DuckDB read CSV files without any options, and checks that a key identifies each row.

Arguments: a table's file and the columns of its key, joined by a comma, and so on. Prints JSON: for each file, a list of
[column, pandas' type, DuckDB's type, whether it is completely empty].
"""

import json
import sys

import duckdb
import pandas as pd

told = {}
for file, key in zip(sys.argv[1::2], sys.argv[2::2]):
    frame = pd.read_csv(file)
    relation = duckdb.sql(f"SELECT * FROM '{file}'")
    if list(frame.columns) != list(relation.columns):
        sys.exit(f"{file}: pandas reads the columns {list(frame.columns)}, DuckDB {list(relation.columns)}")
    if len(frame) != duckdb.sql(f"SELECT count(*) FROM '{file}'").fetchall()[0][0]:
        sys.exit(f"{file}: pandas and DuckDB do not read the same number of rows")
    of_key = frame[key.split(",")]
    if of_key.isna().any(axis=None) or of_key.duplicated().any():
        sys.exit(f"{file}: {key} identifies no row, or several\n{of_key[of_key.duplicated()].head()}")
    # variants.csv has a column for each swept setting instead of their text.
    given = [name for name in ["strategy", "setting"] if name in frame]
    if (frame.groupby("variant")[given].nunique(dropna=False) > 1).any(axis=None):
        sys.exit(f"{file}: strategy and setting do not follow from the variant")
    types = zip(frame.columns, frame.dtypes, relation.types)
    told[file] = [[name, str(a), str(b), bool(frame[name].isna().all())] for name, a, b in types]
json.dump(told, sys.stdout)
