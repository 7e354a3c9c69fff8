"""Prints the texts of a column as read by pandas and DuckDB without any options: JSON, one list each.

Arguments: a table's file, and the column.
"""

import json
import sys

import duckdb
import pandas as pd

file, column = sys.argv[1:]
rows = duckdb.sql(f"SELECT {column} FROM '{file}'").fetchall()
json.dump([list(pd.read_csv(file)[column]), [row[0] for row in rows]], sys.stdout)
