"""The table of goals, results/performance/goals.csv: `python3 benches/goals.py [PART…]` from the repository's folder.

Builds the program and the bench `goals`, runs both, and writes results/performance/goals.csv and million.csv. Parts:
`parts` (engine and flow), `runs` (whole runs), `million` (the simulation of a million clusters for each product),
`outputs` (the same with all outputs); all by default. `--clusters N` makes the last two smaller, `--product NAME`
chooses products, `--program FILE` measures another build. `applications` (several applications on one fleet over one)
writes results/performance/applications.csv.

Whole runs are measured by the CPU time and the peak memory of their process, which the operating system counts. The
smallest of several rounds counts, because other processes can only make them longer.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OUT = Path("results/performance")
LAYERS = ", ".join(f"{{size: {4 + 3 * at} MB}}" for at in range(9))
RELEASE = f"""release:
  kind: update
  images: [{{name: shop, manifest: {{layers: [{LAYERS}]}}}}]
  workloads:
    - kind: Deployment
      image: shop
      replicas: NODES
      start: {{median: 4 s, sigma: 0.6}}
      readiness: {{period: 10 s}}
"""
TWO_REGISTRIES = f"""registries: [{{name: own, registry: {{egress: EGRESS}}}}]
release:
  kind: update
  images:
    - {{name: shop, manifest: {{layers: [{LAYERS}]}}}}
    - {{name: side, registry: OTHER, manifest: {{layers: [{{size: 30 MB}}, {{size: 20 MB}}]}}}}
  workloads:
    - {{kind: Deployment, image: shop, replicas: 3, readiness: {{period: 10 s}}}}
    - {{kind: DaemonSet, image: side, readiness: {{period: 10 s}}}}
"""
APPLICATION_SET = """apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shop, namespace: argocd}
spec:
  generators: [{clusters: {}}]
  strategy:
    type: RollingSync
    rollingSync:
      steps: [{matchExpressions: [{key: ring, operator: In, values: [all]}], maxUpdate: 10%}]
  template:
    metadata: {name: '{{name}}-shop', labels: {ring: all}}
    spec:
      project: default
      source: {repoURL: https://git.example.com/shop.git, targetRevision: main, path: deploy}
      destination: {server: '{{server}}', namespace: shop}
"""
STAGED = """apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterStagedUpdateStrategy
metadata: {name: all}
spec:
  stages: [{name: all, labelSelector: {matchLabels: {ring: all}}, maxConcurrency: 10%}]
"""
PLACEMENT = """kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: '', version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 10%}}
"""
FILES = {"applicationset.yaml": APPLICATION_SET, "staged.yaml": STAGED, "placement.yaml": PLACEMENT}
PRODUCTS = {
    "all at once": "allAtOnce: {}",
    "Rancher Fleet": "rancherFleet: {maxUnavailable: 10%}",
    "Argo CD, RollingSync": "argoCd: {file: applicationset.yaml}",
    "Cloud Foundry, rolling": "cloudFoundry: {strategy: rolling, maxInFlight: TENTH}",
    "KubeFleet, staged": "kubeFleetStaged: {file: staged.yaml}",
    "KubeFleet, rolling update": "kubeFleetRolling: {file: placement.yaml}",
}


def experiment(folder, clusters, strategy, nodes=1, replicates=1, release=RELEASE, other=None):
    """Writes an experiment whose registry has 10 Mbit/s for each cluster, so that its length does not grow with it."""
    first = str(1).zfill(len(str(clusters)))
    text = f"""name: goals
seed: 1
replicates: {replicates}
horizon: 2000h
fleet:
  - {{name: "store-{{{first}..{clusters}}}", labels: {{ring: all}}, nodes: {nodes}, downlink: 100 Mbit/s, rtt: 30 ms}}
registry: {{egress: EGRESS}}
{release}strategies:
  one: {{{strategy}}}
"""
    for word, value in {
        "EGRESS": f"{10 * clusters} Mbit/s",
        "NODES": nodes,
        "registry: OTHER, ": f"registry: {other}, " if other else "",
        "TENTH": max(1, clusters // 10),
    }.items():
        text = text.replace(word, str(value))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {"experiment.yaml": text, **FILES}.items():
        (folder / name).write_text(content)
    return folder


def measure(command, folder, threads=False):
    """Runs a command. Returns user CPU seconds, total CPU seconds, peak memory in bytes, its output, longest thread."""
    with open(folder / "stdout", "w") as stdout, open(folder / "stderr", "w") as stderr:
        process = subprocess.Popen([str(word) for word in command], stdout=stdout, stderr=stderr)
        longest = watch_threads(process.pid) if threads else 0.0
        _, status, usage = os.wait4(process.pid, 0)
    printed = (folder / "stdout").read_text()
    if status:
        sys.exit(f"{command} failed: {(folder / 'stderr').read_text()[-2000:]}")
    both = usage.ru_utime + usage.ru_stime
    return {"user": usage.ru_utime, "cpu": both, "memory": usage.ru_maxrss * 1024, "printed": printed, "longest": longest}


def watch_threads(pid):
    """CPU seconds of the busiest thread of a process, until it ends."""
    seen = {}
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            for task in Path(f"/proc/{pid}/task").iterdir():
                seen[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
        except (OSError, ValueError, IndexError):
            return max(seen.values(), default=0.0)
        if state == "Z":
            return max(seen.values(), default=0.0)
        time.sleep(0.02)


def least(rounds, of):
    """The minimum of each number over some rounds."""
    found = [of() for _ in range(rounds)]
    return {key: min(one[key] for one in found) for key in ("user", "cpu", "memory", "longest")} | {
        "printed": found[-1]["printed"]
    }


def run(program, folder, *options, threads=False):
    return measure([program, "run", folder, "--out", folder / "out", "--replace", *options], folder, threads)


def build(args):
    """The program, and the bench as an executable."""
    if args.program is None:
        subprocess.run(["cargo", "build", "--release"], check=True)
    command = ["cargo", "bench", "--bench", "goals", "--no-run"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    bench = found.stderr.rsplit("(", 1)[1].split(")")[0]
    return args.program or "target/release/fleetsim", bench


def parts(bench):
    printed = subprocess.run([bench, "--bench"], check=True, capture_output=True, text=True).stdout
    return [(row["part"], row["load"], row["ns"], row["reference_ns"], row["ratio"]) for row in csv.DictReader(
        printed.splitlines())]


def runs(program, bench, folder):
    """Whole runs with a reference: part, load, µs of CPU, those of the reference, ratio."""
    rows = []

    def add(load, work, reference):
        rows.append(("run", load, f"{work * 1e6:.0f}", f"{reference * 1e6:.0f}", f"{work / reference:.3f}"))

    registries = [
        experiment(folder / f"of {other}", 3000, "allAtOnce: {}", nodes=3, release=TWO_REGISTRIES, other=other)
        for other in ("own", None)
    ]
    two, one = (least(2, lambda at=at: run(program, at)) for at in registries)
    add("two registries, 3,000 clusters x 3 nodes, over one", two["user"], one["user"])

    whole = experiment(folder / "thousand", 1000, PRODUCTS["Rancher Fleet"])
    outputs = least(5, lambda: run(program, whole))
    alone = min(float(measure([bench, "simulate", whole], whole)["printed"].split(",")[0]) for _ in range(5))
    add("one run of 1,000 clusters with all outputs, over its simulation", outputs["user"], alone)

    # An ApplicationSet with steps and more than 3,360 applications stops, because etcd refuses its status.
    alone = [
        min(float(measure([bench, "simulate", at], at)["printed"].split(",")[0]) for _ in range(5))
        for at in (experiment(folder / name.split(",")[0], 3000, PRODUCTS[name]) for name in
                   ("Argo CD, RollingSync", "Rancher Fleet"))
    ]
    add("Argo CD, RollingSync, 3,000 clusters, over Rancher Fleet, simulation alone", *alone)

    short = experiment(folder / "short", 300, PRODUCTS["Rancher Fleet"], replicates=100)
    on_one = least(3, lambda: run(program, short, "--threads", 1, threads=True))
    on_two = least(3, lambda: run(program, short, "--threads", 2, threads=True))
    add("100 short runs: CPU time of the busiest thread, 1 over 2 threads", on_one["longest"], on_two["longest"])
    return rows


def fleets(folder, clusters, wanted):
    """Each product with its experiment."""
    for product, strategy in PRODUCTS.items():
        if not wanted or any(word in product for word in wanted):
            yield product, experiment(folder / product.replace(" ", "-").replace(",", ""), clusters, strategy)


def million(bench, folder, clusters, wanted):
    """The simulation alone: CPU time and peak memory for each cluster, and events."""
    rows = []
    for product, at in fleets(folder, clusters, wanted):
        found = measure([bench, "simulate", at], at)
        seconds, events = found["printed"].strip().split(",")
        rows.append((
            product, clusters, seconds, f"{float(seconds) / clusters * 1e6:.1f}", f"{found['memory'] / 1e9:.2f}",
            f"{found['memory'] / clusters / 1e3:.2f}", events,
        ))
        print(rows[-1], flush=True)
    return rows


def outputs(program, folder, clusters, wanted):
    """Whole runs: CPU time and peak memory for each cluster, and the completion time in the results."""
    rows = []
    for product, at in fleets(folder, clusters, wanted):
        found = run(program, at)
        table = list(csv.DictReader((at / "out" / "runs.csv").read_text().splitlines()))[0]
        page = sum(file.stat().st_size for file in (at / "out").rglob("report.html"))
        rows.append((
            product, clusters, f"{found['user']:.1f}", f"{found['cpu']:.1f}", f"{found['user'] / clusters * 1e6:.1f}",
            f"{found['memory'] / 1e9:.2f}", f"{found['memory'] / clusters / 1e3:.2f}", table["events"],
            table["outcome"], table["completion_s"], page,
        ))
        print(rows[-1], flush=True)
    return rows


def busy(folder, clusters, applications, strategies):
    """An experiment with this number of applications, each of which each node pulls."""
    at = experiment(folder, clusters, "allAtOnce: {}")
    text = (at / "experiment.yaml").read_text()
    head, rest = text.split("release:\n")
    release, _ = rest.split("strategies:\n")
    (at / "typical.yaml").write_text("\n".join(line.removeprefix("  ") for line in release.splitlines()) + "\n")
    names = f"app-{{01..{applications:02}}}"
    head += f'applications: {{"{names}": {{release: {{file: typical.yaml}}}}}}\nstrategies:\n'
    for number, strategy in enumerate(strategies):
        head += f"  s{number}: {{{strategy}}}\n"
    (at / "experiment.yaml").write_text(head)
    return at


def applications(program, bench, folder):
    """Several applications on 1,000 clusters over one: CPU time and memory. Then a study of a fleet that is busy."""
    rows = []
    for product in ("Rancher Fleet", "Argo CD, RollingSync", "KubeFleet, rolling update"):
        found = {}
        for number in (1, 50):
            strategy = PRODUCTS[product]
            if "file" in strategy and "argoCd" in strategy:
                # Without a file, every application has Applications of its own names.
                strategy = "argoCd: {}"
            at = busy(folder / f"{number} {strategy[:4]}", 1000, number, [strategy])
            found[number] = measure([bench, "simulate", at], at)
        seconds = {number: float(one["printed"].split(",")[0]) for number, one in found.items()}
        memory = {number: one["memory"] / (1000 * number) / 1e3 for number, one in found.items()}
        rows.append((
            f"{product}, 1,000 clusters with 50 applications, over one", f"{seconds[50]:.3f}", f"{seconds[1]:.3f}",
            f"{seconds[50] / seconds[1]:.1f}", f"{memory[50]:.2f}", f"{memory[1]:.2f}",
        ))
        print(rows[-1], flush=True)
    variants = [f"rancherFleet: {{maxUnavailable: {share}%}}" for share in (5, 10, 20, 30, 50, 100)]
    at = busy(folder / "study", 300, 40, variants)
    found = run(program, at, "--replicates", 20)
    rows.append(("300 clusters, 40 applications, 20 runs of 6 variants", f"{found['cpu']:.1f}", "", "",
                 f"{found['memory'] / 12_000 / 1e3:.2f}", ""))
    print(rows[-1], flush=True)
    return rows


def write(name, head, rows):
    OUT.mkdir(parents=True, exist_ok=True)
    with open(OUT / name, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    print(f"{OUT / name}: {len(rows)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--clusters", type=int, default=1_000_000)
    parser.add_argument("--program", type=Path)
    parser.add_argument("--product", action="append", default=[])
    args = parser.parse_args()
    wanted = args.parts or ["parts", "runs", "million", "outputs"]
    program, bench = build(args)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        rows = parts(bench) if "parts" in wanted else []
        rows += runs(program, bench, folder) if "runs" in wanted else []
        if rows:
            write("goals.csv", ("part", "load", "ns_or_us", "of_reference", "ratio"), rows)
        if "applications" in wanted:
            head = ("load", "cpu_s", "cpu_of_one_s", "ratio", "kb_per_deployment", "kb_per_cluster_of_one")
            write("applications.csv", head, applications(program, bench, folder))
        if "million" in wanted:
            head = ("product", "clusters", "user_s", "us_per_cluster", "peak_gb", "kb_per_cluster", "events")
            write("million.csv", head, million(bench, folder, args.clusters, args.product))
        if "outputs" in wanted:
            head = ("product", "clusters", "user_s", "cpu_s", "us_per_cluster", "peak_gb", "kb_per_cluster", "events",
                    "outcome", "completion_s", "page_bytes")
            write("outputs.csv", head, outputs(program, folder, args.clusters, args.product))


if __name__ == "__main__":
    main()
