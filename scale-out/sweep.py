#!/usr/bin/env python3
"""Simulates the shards of a study as Dask tasks, and merges them.

    python scale-out/sweep.py --shards 12 --out results/01.shards -- run experiments/01-max-unavailable

After `--` comes a fleetsim command without --shard and --out: `run`, `plan` or `sensitivity`, the experiment, flags.
Workers need the same fleetsim program, the experiment under the same path, and a shared file system.

A worker that dies takes its shard's program with it (on Linux). Dask starts the task again on another worker, and
fleetsim resumes the shard with the saved runs, if both workers have the same user and home. A shard that is
complete is not simulated again, so the whole sweep can be started again at any time.
"""

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys

# Exit codes of fleetsim after which a retry would fail again: wrong usage or invalid input.
FINAL = (2,)


def die_with_parent():
    """Makes the kernel kill this process when its worker dies, so that it does not keep the shard's lock."""
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def simulate(program, command, shard, round_number, out):
    """The task of one shard: its exit code and output. A transient failure is raised, so that Dask retries."""
    call = [program, *command, "--shard", shard, "--round", str(round_number), "--out", out]
    done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=die_with_parent)
    if done.returncode != 0 and done.returncode not in FINAL:
        raise RuntimeError(f"shard {shard} ended with {done.returncode}: {done.stderr.strip()}")
    return done.returncode, done.stderr


def cluster_for(args):
    """The cluster to use; None for a running one, by address or file. Sizes come from Dask's configuration."""
    if args.scheduler or args.scheduler_file:
        return None
    from distributed import LocalCluster

    if args.cluster == "kubernetes":
        from dask_kubernetes.operator import KubeCluster

        cluster = KubeCluster(name="fleetsim", image=args.image)
    elif args.cluster == "slurm":
        from dask_jobqueue import SLURMCluster

        cluster = SLURMCluster()
    else:
        return LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
    cluster.scale(args.workers)
    return cluster


def simulate_round(client, args, round_number):
    """Simulates all shards of a round. Returns an exit code."""
    from distributed import as_completed

    tasks = [
        client.submit(
            simulate,
            args.program,
            args.command,
            f"{number}/{args.shards}",
            round_number,
            args.out,
            key=f"shard-{number}-of-{args.shards}-round-{round_number}",
            pure=False,
            retries=args.retries,
        )
        for number in range(1, args.shards + 1)
    ]
    for task in as_completed(tasks):
        try:
            code, said = task.result()
        except Exception as error:
            print(f"error: {task.key}: {error}", file=sys.stderr)
            return 1
        print(said, end="", file=sys.stderr, flush=True)
        if code:
            return code
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, required=True, help="number of shards; several for each worker")
    parser.add_argument("--out", required=True, help="folder for the shards, on a file system that all workers share")
    parser.add_argument("--results", help="folder for the merged results [default: results/<experiment>]")
    parser.add_argument("--junit", help="write the asserted limits to this file as a JUnit report")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of shards; what is left is simulated by the merge")
    parser.add_argument("--retries", type=int, default=3, help="further attempts at a shard that fails [default: 3]")
    parser.add_argument("--program", default="fleetsim", help="the fleetsim program on the workers and here")
    parser.add_argument("--workers", type=int, default=2, help="workers of a cluster that is started here [default: 2]")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", help="address of a running Dask scheduler")
    where.add_argument("--scheduler-file", help="scheduler file of a running Dask scheduler")
    where.add_argument("--cluster", choices=["local", "kubernetes", "slurm"], default="local")
    parser.add_argument("--image", help="with --cluster kubernetes: an image with Dask and fleetsim")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- run EXPERIMENT [flags]")
    args = parser.parse_args()
    args.command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if len(args.command) < 2 or args.command[0] not in ("run", "plan", "sensitivity"):
        parser.error("after `--`, name a fleetsim command and its experiment, such as: -- run experiments/01")
    if args.command[1].startswith("-"):
        parser.error(f"the experiment must follow `{args.command[0]}`, before the flags")
    if args.junit and args.command[0] != "run":
        parser.error("--junit needs the command `run`; other results have no asserted limits")
    for flag in ("--shard", "--round", "--out", "--junit"):
        if any(word == flag or word.startswith(flag + "=") for word in args.command):
            parser.error(f"the fleetsim command must not have {flag}; an option of sweep.py decides it")
    for name, least in (("shards", 1), ("rounds", 1), ("retries", 0), ("workers", 1)):
        if getattr(args, name) < least:
            parser.error(f"--{name} must be at least {least}")
    if shutil.which(args.program) is None:
        parser.error(f"there is no program `{args.program}`; name it with --program")
    if not os.path.exists(args.command[1]):
        parser.error(f"there is no experiment `{args.command[1]}`")
    return args


def main():
    args = arguments()
    # Loading Dask takes seconds, and is not needed to reject wrong arguments.
    import dask
    from distributed import Client

    # A worker may die during a task as often as the task may fail.
    dask.config.set({"distributed.scheduler.allowed-failures": args.retries})
    cluster = cluster_for(args)
    with Client(cluster or args.scheduler, scheduler_file=args.scheduler_file) as client:
        for round_number in range(1, args.rounds + 1):
            code = simulate_round(client, args, round_number)
            if code:
                return code
    if cluster:
        cluster.close()
    merge = [args.program, "merge", args.out, "--experiment", args.command[1]]
    merge += ["--allow-commands"] if "--allow-commands" in args.command else []
    merge += ["--out", args.results] if args.results else []
    merge += ["--junit", args.junit] if args.junit else []
    return subprocess.run(merge).returncode


if __name__ == "__main__":
    sys.exit(main())
