"""SimGrid and fleetsim's whole simulator under the loads A3, B3 and C3: `python3 benches/peers/simgrid.py [N]`.

Needs g++ and SimGrid's library and headers (Debian: libsimgrid-dev); `--prefix DIR` names a folder with its include
and lib. Builds simgrid.cpp and the bench `goals` (or takes `--bench FILE`), runs the two in turn, and writes the
smallest CPU times to results/performance/peers-simgrid.csv. Run it from the repository's folder.

SimGrid simulates the flows alone. fleetsim simulates a rollout to all N clusters at once with one node each: the same
downlinks, regions, egress and starts within a minute, one image of five layers with the same mean size, three at a
time, and with it requests, unpacking, pods, agents and the product's reports.
"""

import argparse
import csv
import os
import subprocess
import tempfile
from pathlib import Path

OUT = Path("results/performance/peers-simgrid.csv")
HERE = Path(__file__).parent
MASK = (1 << 64) - 1
SIZES = "{size: 20 MB}, {size: 60 MB}, {size: 100 MB}, {size: 140 MB}, {size: 182.5 MB}"


class SplitMix64:
    """The generator of the load's definition."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = (self.state ^ (self.state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & MASK
        return mixed ^ (mixed >> 31)

    def below(self, n):
        return self.next() * n >> 64

    def within(self, low, high):
        return low + self.below(high - low + 1)

    def log_uniform(self, low, high):
        return round(low * (high / low) ** ((self.next() >> 11) / 2**53))


def experiment(folder, family, n):
    """A rollout with the links of the load. Its draws are made in order; those of starts and sizes are not used."""
    random = SplitMix64(20_240_607 + n)
    egress = {"A": 1.25e9, "B": 4e6 * n, "C": 3e6 * n}[family]
    regions = [n * random.within(2_000_000, 7_000_000) // 16 for _ in range(16 if family == "C" else 0)]
    clusters = []
    for at in range(n):
        downlink = 125_000_000 if family == "A" else random.log_uniform(2e6, 1e8)
        random.next()
        region = f", region: r{random.below(16)}" if regions else ""
        clusters.append(f"  - {{name: c{at:05}, nodes: 1, downlink: {downlink} B/s, rtt: 1 ms{region}}}")
        for _ in range(5):
            random.next()
    links = [f"  - {{name: r{at}, bandwidth: {rate} B/s}}" for at, rate in enumerate(regions)]
    text = "\n".join([
        f"name: {family.lower()}3", "seed: 1", "horizon: 2000h",
        "fleet:", *clusters, *(["regions:", *links] if links else []),
        f"registry: {{egress: {egress:.0f} B/s, perConnection: unlimited}}",
        "node: {downloadSlots: 3, noProgressTimeout: off}", "agent: {instructionDelay: {min: 0 s, max: 60 s}}",
        "release:",
        f"  images: [{{name: app, manifest: {{layers: [{SIZES}]}}}}]",
        "  workloads: [{kind: Deployment, image: app}]", "strategies: {one: {allAtOnce: {}}}", "",
    ])
    file = folder / f"{family}.yaml"
    file.write_text(text)
    return file


def build(folder, prefix):
    """Compiles simgrid.cpp; returns the program and its environment."""
    program, lib = folder / "simgrid", prefix / "lib"
    found = [lib, *lib.glob("*-linux-gnu")]
    command = ["g++", "-std=c++17", "-O2", f"-I{prefix / 'include'}", *(f"-L{at}" for at in found), "-o", program,
               HERE / "simgrid.cpp", "-lsimgrid", *(f"-Wl,-rpath-link,{at}" for at in found)]
    subprocess.run(command, check=True)
    return program, os.environ | {"LD_LIBRARY_PATH": ":".join(map(str, found))}


def printed(command, environment=None):
    """The fields of the last line that a command prints."""
    ran = subprocess.run([str(word) for word in command], env=environment, check=True, capture_output=True, text=True)
    return ran.stdout.strip().splitlines()[-1].split(",")


def bench():
    """Builds the bench `goals`."""
    command = ["cargo", "bench", "--bench", "goals", "--no-run"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return told.rsplit("(", 1)[1].split(")")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clusters", nargs="?", type=int, default=1000, metavar="N")
    parser.add_argument("--prefix", type=Path, default=Path("/usr"))
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    n = args.clusters
    with tempfile.TemporaryDirectory() as folder:
        program, environment = build(Path(folder), args.prefix)
        ours = args.bench or bench()
        rows = []
        for family in "ABC":
            file, theirs, alone = experiment(Path(folder), family, n), [], []
            for _ in range(args.rounds):
                *_, seconds, _, version = printed([program, family, n], environment)
                theirs.append(float(seconds) / (5 * n) * 1e6)
                alone.append(float(printed([ours, "simulate", file])[0]) / (5 * n) * 1e6)
            least, mine = min(theirs), min(alone)
            rows.append((f"{family}3", n, version, f"{least:.1f}", f"{mine:.2f}", f"{least / mine:.0f}"))
            print(*rows[-1], flush=True)
    with open(OUT, "w", newline="") as file:
        head = ("load", "pullers", "simgrid", "simgrid_us_per_flow", "fleetsim_us_per_transfer", "ratio")
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


if __name__ == "__main__":
    main()
