"""The command line: ``python -m fleetsim`` and the script ``fleetsim``."""

from __future__ import annotations

import sys

from fleetsim import _fleetsim


def main() -> int:
    """Runs the program in this process, with the arguments of the command line. Returns its exit code."""
    return _fleetsim.program(["fleetsim", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
