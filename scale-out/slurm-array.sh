#!/usr/bin/env bash
# A sweep as a Slurm array: one task for each shard, on a file system that all nodes share.
#
#   array=$(sbatch --parsable scale-out/slurm-array.sh results/01.shards run experiments/01-max-unavailable)
#   sbatch --dependency=afterok:$array --wrap "fleetsim merge results/01.shards"
#
# The script and its index are tested without Slurm (tests/suite/scale_out.rs). It is UNTESTED on a real cluster.
#
# To change the number of shards, change --array and `shards` below. The array begins with 1. A task that failed can be
# submitted alone, as with --array=3: it resumes with the runs that were saved in the user's home, which nodes share.
#SBATCH --job-name=fleetsim
#SBATCH --array=1-7
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --requeue
set -euo pipefail
shards=7
out=$1
shift
exec fleetsim "$@" --shard "auto/$shards" --out "$out" --threads "${SLURM_CPUS_PER_TASK:-2}"
