#!/usr/bin/env python3
"""Compares the values in two sets of results: runs.csv, summary.csv and plan.csv of every experiment.

usage: .ci/compare_results.py [OPTION ...] A B

A and B are folders with one results folder per experiment, like results/, or commits of this repository. Every value must
be equal: numbers as numbers, bit by bit, and texts as texts. The order of columns does not matter; the order of rows does.

  --column OLD=NEW     column OLD of A is called NEW in B
  --text OLD=NEW       a cell of A that reads OLD reads NEW in B, e.g. a renamed measure
  --ignore COLUMN      do not compare this column (named as in B)
  --only EXPERIMENT    compare this experiment; repeat for several

Prints each experiment with the number of compared values. Exit code 1 if anything differs or is missing in B.
"""

import argparse
import csv
import io
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = ["runs.csv", "summary.csv", "plan.csv"]
MOST_SHOWN = 5


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True)
    if done.returncode != 0:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


def tables(place):
    """Maps experiment -> table -> text."""
    found = {}
    if Path(place).is_dir():
        for path in sorted(Path(place).glob("*/*.csv")):
            if path.name in TABLES:
                found.setdefault(path.parent.name, {})[path.name] = path.read_text()
    else:
        for path in git("ls-tree", "-r", "--name-only", place, "results/").decode().splitlines():
            parts = path.split("/")
            if len(parts) == 3 and parts[2] in TABLES:
                found.setdefault(parts[1], {})[parts[2]] = git("show", f"{place}:{path}").decode()
    return found


def rows(text):
    reader = csv.reader(io.StringIO(text))
    header = next(reader)
    return header, list(reader)


def equal(a, b):
    if a == b:
        return True
    try:
        return float(a) == float(b)
    except ValueError:
        return False


def compare(a, b, options):
    """The number of compared values, and the differences."""
    header_a, rows_a = rows(a)
    header_b, rows_b = rows(b)
    columns = [options.column.get(name, name) for name in header_a]
    problems = [f"column {name} is missing in B" for name in columns if name not in header_b + options.ignore]
    problems += [f"column {name} is missing in A" for name in header_b if name not in columns + options.ignore]
    if len(rows_a) != len(rows_b):
        problems.append(f"{len(rows_a)} rows in A, {len(rows_b)} in B")
    pairs = [(n, header_b.index(name)) for n, name in enumerate(columns) if name in header_b and name not in options.ignore]
    count = 0
    for number, (row_a, row_b) in enumerate(zip(rows_a, rows_b), start=2):
        for in_a, in_b in pairs:
            count += 1
            value = options.text.get(row_a[in_a], row_a[in_a])
            if not equal(value, row_b[in_b]):
                problems.append(f"line {number}, {header_b[in_b]}: {value!r} in A, {row_b[in_b]!r} in B")
    return count, problems


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    pair = lambda text: tuple(text.split("=", 1))
    parser.add_argument("--column", type=pair, action="append", default=[])
    parser.add_argument("--text", type=pair, action="append", default=[])
    parser.add_argument("--ignore", action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("a")
    parser.add_argument("b")
    options = parser.parse_args()
    options.column, options.text = dict(options.column), dict(options.text)
    every_a, every_b = tables(options.a), tables(options.b)
    names = options.only or sorted(every_a)
    if not names:
        sys.exit(f"no results in {options.a}")
    total, failed = 0, False
    for name in names:
        count, problems = 0, []
        for table in sorted(every_a.get(name, {})):
            if table not in every_b.get(name, {}):
                problems.append(f"{table} is missing in B")
                continue
            compared, found = compare(every_a[name][table], every_b[name][table], options)
            count += compared
            problems += [f"{table}: {problem}" for problem in found]
        if count == 0 and not problems:
            problems.append("there is nothing to compare")
        total += count
        failed |= bool(problems)
        print(f"{name:<36}{count:>10,} values  {f'{len(problems):,} DIFFERENCES' if problems else 'equal'}")
        for problem in problems[:MOST_SHOWN]:
            print(f"    {problem}")
        if len(problems) > MOST_SHOWN:
            print(f"    … and {len(problems) - MOST_SHOWN:,} more")
    print(f"{'all':<36}{total:>10,} values  {'DIFFERENT' if failed else 'equal'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
