"""Prints the texts of a column as pandas and DuckDB read them without any options: JSON, a list each.

Arguments: a table's file, and the column.
"""

import json
import sys

import duckdb
import pandas as pd

file, column = sys.argv[1:]
rows = duckdb.sql(f"SELECT {column} FROM '{file}'").fetchall()
json.dump([list(pd.read_csv(file)[column]), [row[0] for row in rows]], sys.stdout)
