"""Arguments that become words of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def listed(values: str | Sequence[str]) -> list[str]:
    """The values as a list. One text is a list of one: Python would take it as a sequence of letters."""
    return [values] if isinstance(values, str) else list(values)
