"""Failure models in Python: the same seed and replicate give the same outages on any thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import fleetsim as fs
import pytest
from conftest import small


class Storms(fs.Faults):
    """Storms that cut a tenth of the sites off, about every 3 minutes."""

    def outages(self, sites: Sequence[fs.Site], horizon: float, rng: fs.Rng) -> Iterator[fs.Outage]:
        at = 0.0
        while (at := at + rng.exponential(mean=200)) < horizon:
            for site in rng.sample(sites, len(sites) // 10):
                yield fs.Outage(site, at, rng.lognormal(median=300, sigma=0.5))


class Fixed(fs.Faults):
    """The outages that it is given."""

    def __init__(self, *named: fs.Outage) -> None:
        self.named = named

    def outages(self, sites: Sequence[fs.Site], horizon: float, rng: fs.Rng) -> Sequence[fs.Outage]:
        return self.named


def many() -> dict[str, object]:
    return small(40, replicates=6, strategies={"batches": {"batches": {"size": 4}}})


def test_storms_are_deterministic_by_seed_and_replicate() -> None:
    experiment = fs.Experiment(many()).with_faults(Storms())
    one = experiment.run(threads=1, causes=False)
    assert one.runs.csv == experiment.run(threads=4, causes=False).runs.csv
    assert one.clusters.csv == experiment.run(threads=3, causes=False).clusters.csv
    assert one.runs.csv != experiment.with_seed(2).run(causes=False).runs.csv
    calm = fs.Experiment(many()).run(causes=False)
    times = zip(one.runs.rows("reachable_ready_s"), calm.runs.rows("reachable_ready_s"), strict=True)
    assert sum(stormy[0] > plain[0] for stormy, plain in times) >= 5, "storms delay rollouts"
    assert len({row for row in one.runs.rows("reachable_ready_s")}) == 6, "replicates differ"


def measures(results: fs.Results) -> list[dict[str, object]]:
    """All runs without the number of events: an outage of each site has events of its own."""
    return [{key: value for key, value in row.items() if key != "events"} for row in results.runs.to_dicts()]


def test_an_outage_equals_the_same_window_in_the_file() -> None:
    window = {"selector": {}, "windows": [{"from": "1 min", "for": "7 min"}], "cuts": "management"}
    of_file = fs.Experiment(small(faults={"regional": [window]})).run(causes=False)
    outages = [fs.Outage(site, 60.0, 420.0, "management") for site in range(12)]
    own = fs.Experiment(small(faults={})).with_faults(Fixed(*outages)).run(causes=False)
    assert measures(own) == measures(of_file) and own.clusters.csv == of_file.clusters.csv
    brownout = {"selector": {}, "windows": [{"from": "0 s", "for": "1 h"}], "downlink": "10%"}
    of_file = fs.Experiment(small(faults={"regional": [brownout]})).run(causes=False)
    outages = [fs.Outage(site, 0.0, 3600.0, downlink=0.1) for site in range(12)]
    own = fs.Experiment(small(faults={})).with_faults(Fixed(*outages)).run(causes=False)
    assert measures(own) == measures(of_file)


def test_a_model_sees_the_sites() -> None:
    seen: list[object] = []

    class Looks(fs.Faults):
        def outages(self, sites: Sequence[fs.Site], horizon: float, rng: fs.Rng) -> list[fs.Outage]:
            first = sites[0]
            seen.append((len(sites), first.index, first.name, first.group, first.labels, horizon))
            return []

    fs.Experiment(small(horizon="2 h")).with_faults(Looks()).run(replicates=1, causes=False)
    assert seen[0] == (12, 0, "site-001", "site-{001..012}", {}, 7200.0)


def test_wrong_outages_are_refused() -> None:
    cases = [
        (fs.Outage(12, 0.0, 1.0), "an outage must name a site from 0 to 11, not 12"),
        (fs.Outage(0, -1.0, 1.0), "`start` must be from 0 s to 100 years, not -1"),
        (fs.Outage(0, 0.0, float("nan")), "`duration` must be from 0 s to 100 years, not NaN"),
        (fs.Outage(0, 0.0, 1.0, "power"), '`cuts` must be "all" or "management", not "power"'),  # type: ignore[arg-type]
        (fs.Outage(0, 0.0, 1.0, downlink=0.0), "`downlink` must be above 0 and at most 1, not 0"),
    ]
    for outage, message in cases:
        with pytest.raises(fs.CommandFailed) as caught:
            fs.Experiment(small()).with_faults(Fixed(outage)).run(causes=False)
        assert message in str(caught.value)
        assert "replicate 0" in str(caught.value)


def test_the_generator_has_the_numbers_of_its_seed() -> None:
    def draws(seed: int) -> list[object]:
        rng = fs.Rng(seed)
        return [
            rng.random(),
            rng.uniform(2.0, 3.0),
            rng.exponential(10.0),
            rng.lognormal(10.0, 0.5),
            rng.weibull(10.0, 0.75),
            rng.integer(6),
            rng.choice("abc"),
            rng.sample(range(10), 10),
            rng.seed(),
        ]

    assert draws(1) == draws(1) and draws(1) != draws(2)
    rng = fs.Rng(7)
    mean = sum(rng.exponential(10.0) for _ in range(20_000)) / 20_000
    assert abs(mean - 10.0) < 5 * 10.0 / 20_000**0.5
    assert sorted(draws(1)[7]) == list(range(10))  # type: ignore[call-overload]
    counts = [0] * 6
    for _ in range(6_000):
        counts[rng.integer(6)] += 1
    assert all(abs(count - 1_000) < 5 * (6_000 * 5 / 36) ** 0.5 for count in counts)
    with pytest.raises(ValueError, match="`mean` must be above 0"):
        rng.exponential(0.0)
