"""Exceptions of fleetsim. Their text is the text that the command line prints, with file, line and fix."""

from __future__ import annotations

import traceback
from typing import TypedDict

__all__ = ["CommandFailed", "FleetsimError", "InternalError", "InvalidExperiment", "Problem"]


class Problem(TypedDict):
    """One problem of an experiment: its place, what must hold, and how to fix it."""

    file: str
    line: int | None
    field: str
    message: str
    help: str | None


class FleetsimError(Exception):
    """Any failure of fleetsim."""


class InvalidExperiment(FleetsimError, ValueError):
    """An experiment that is invalid or cannot be read. ``problems`` lists every problem."""

    problems: list[Problem]

    def __init__(self, text: str, problems: list[Problem]) -> None:
        super().__init__(text)
        self.problems = problems

    def __reduce__(self) -> tuple[type[InvalidExperiment], tuple[str, list[Problem]]]:
        return type(self), (str(self), self.problems)


class CommandFailed(FleetsimError, RuntimeError):
    """A command that failed. ``code`` is the exit code of the program."""

    code: int

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> tuple[type[CommandFailed], tuple[str, int]]:
        return type(self), (str(self), self.code)


class InternalError(FleetsimError, RuntimeError):
    """An error in fleetsim itself. Please report it with the experiment."""


def in_words(error: BaseException) -> str:
    """The last lines of an exception's traceback, for the message of a run that failed."""
    lines = [f"{type(error).__name__}: {error}".rstrip(": ")]
    for frame in traceback.extract_tb(error.__traceback__)[-3:]:
        lines.append(f"    in {frame.name}, {frame.filename}, line {frame.lineno}: {frame.line}")
    return "\n".join(lines)
