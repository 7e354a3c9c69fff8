"""Strategies in Python, which decide in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from fleetsim._fleetsim import Fleet, Target

__all__ = ["Strategy"]


class Strategy(ABC):
    """A strategy of your own: subclass it and write :meth:`decide`.

    Each run works with a deep copy of the object, so that attributes belong to one run. A strategy must decide from
    what it gets; with random numbers from ``random.Random(fleet.seed)``, the same run always decides the same.

    >>> import fleetsim as fs
    >>> class Batches(fs.Strategy):
    ...     def __init__(self, size):
    ...         self.size = size
    ...     def decide(self, now, fleet):
    ...         return [] if fleet.in_flight else fleet.waiting(self.size)
    >>> exp = fs.Experiment({
    ...     "name": "batches",
    ...     "question": "Does it decide like `batches`?",
    ...     "fleet": [{"name": "site-{1..6}"}],
    ...     "release": {"images": [{"name": "app", "manifest": {"layers": [{"size": "80 MB"}]}}],
    ...                 "workloads": [{"kind": "Deployment", "image": "app", "replicas": 1}]},
    ...     "strategies": {"native": {"batches": {"size": 2}}},
    ... })
    >>> r = exp.with_strategy("mine", Batches(2)).run(replicates=2)
    >>> peaks = r.runs.rows("strategy", "peak_pulls")
    >>> sorted({peak for strategy, peak in peaks if strategy == "mine"})
    [2]
    """

    def begin(self, fleet: Fleet) -> None:
        """Called once at the start of a run."""

    def stages(self, fleet: Fleet) -> Mapping[str, Iterable[int]] | Sequence[Iterable[int]] | None:
        """Names groups of targets for people: a mapping of names to numbers of targets, or a list of lists."""
        return None

    @abstractmethod
    def decide(self, now: float, fleet: Fleet) -> Iterable[int | Target] | None:
        """Returns the targets that are told to run the wanted revision now, in this order.

        It is called whenever a target becomes ready or ceases to be ready, a person acts, or at a time that
        ``fleet.wake`` named. ``now`` is the virtual time in seconds.
        """

    def hold(self, fleet: Fleet) -> str | tuple[str, str] | None:
        """Says why the rollout did not complete: a sentence, or the name of a rule and a sentence."""
        return None
