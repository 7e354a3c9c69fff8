"""Runs the cells of docs/analysis.md like a notebook: one namespace, and the value of a last expression is shown.

Reads a JSON list of [language, code] from standard input; prints a JSON list of the cells' outputs.
"""

import ast
import contextlib
import io
import json
import sys

import duckdb


def run_python(code, namespace):
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<cell>", "exec"), namespace)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
        if value is not None:
            print(value)


def run_sql(code):
    duckdb.sql(code).show(max_width=120, max_rows=60)


namespace = {}
outputs = []
for language, code in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if language == "python":
            run_python(code, namespace)
        else:
            run_sql(code)
    # Editors and Git complain about trailing blanks.
    outputs.append("\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines()))
json.dump(outputs, sys.stdout)
