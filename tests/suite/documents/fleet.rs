//! The statements of Rancher Fleet's document.

use super::readings::at_once;
use super::readings::fleet::{
    after_return, batch, first_told, first_wave, left_out, not_ready_at_51, partition_limits,
    partition_sizes, partitions_allowed, pause_between, ready_before_next, second_partition, storm,
    strict_order, waves_of_partitions, words_of_git_repo,
};
use super::{DocumentStatement, read};

pub(super) const STATEMENTS: &[DocumentStatement] = &[
    read(
        (
            "F1",
            "The Ready status of clusters decides when the next partition begins.",
        ),
        (
            "five-partitions",
            "ready share of a partition when the next begins",
        ),
        ready_before_next,
        "at least 90 %",
        "",
    ),
    read(
        (
            "F2",
            "In a first deployment the GitRepo shows NotReady and Pending clusters.",
        ),
        ("two-partitions-first", "words of the GitRepo"),
        words_of_git_repo,
        "NotReady, Pending",
        "",
    ),
    read(
        (
            "F3",
            "In a rollout the GitRepo shows NotReady and OutOfSync clusters.",
        ),
        (
            "two-partitions",
            "words of the GitRepo (`statuses: documented`)",
        ),
        words_of_git_repo,
        "NotReady, OutOfSync",
        "a cluster that waits for its turn is `WaitApplied`, before 0.16 `OutOfSync`",
    ),
    read(
        ("F4", "Without a rolloutStrategy the defaults apply."),
        ("defaults", "clusters of the partitions"),
        partition_sizes,
        "50, 50, 50, 50",
        "",
    ),
    read(
        (
            "F5",
            "Clusters in no manual partition are not included in the rollout.",
        ),
        (
            "unpartitioned",
            "end of the run, and whether `check` lists them",
        ),
        left_out,
        "complete, listed",
        "the rollout waits for them",
    ),
    read(
        (
            "F6",
            "A partition is NotReady if more than the allowed clusters are.",
        ),
        ("two-away", "start of the second partition"),
        second_partition,
        "held until they are back",
        "",
    ),
    read(
        ("F6", "With the allowed number it is not."),
        ("one-away", "start of the second partition"),
        second_partition,
        "goes on",
        "",
    ),
    read(
        (
            "F7",
            "An offline cluster is NotReady until it is back and has deployed.",
        ),
        ("two-away", "start of the second partition"),
        after_return,
        "after it is ready again",
        "",
    ),
    read(
        (
            "F8",
            "A manual partition has its own maxUnavailable, or else that of the strategy.",
        ),
        ("selectors", "limits of the partitions"),
        partition_limits,
        "1, 3, 3, 1",
        "",
    ),
    read(
        (
            "F9",
            "The value of a partition overrides that of the strategy.",
        ),
        ("own-limit", "clusters instructed before any is ready"),
        first_wave,
        "50",
        "the strategy's `maxUnavailable` caps the bundle as well",
    ),
    read(
        (
            "F10",
            "Automatic partitions have the strategy's maxUnavailable.",
        ),
        ("five-partitions", "limits of the partitions"),
        partition_limits,
        "1, 1, 1, 1, 1",
        "",
    ),
    read(
        (
            "F11",
            "It goes on while at most maxUnavailablePartitions are NotReady.",
        ),
        ("one-partition-may", "start of the second partition"),
        second_partition,
        "goes on",
        "",
    ),
    read(
        (
            "F12",
            "Batches of up to 50 in a partition, with a check after each.",
        ),
        ("hundred-5", "clusters instructed before any is ready"),
        first_wave,
        "50",
        "no check in between",
    ),
    read(
        (
            "F13",
            "25 clusters, maxUnavailable 5: all 25 before the check.",
        ),
        ("twenty-five", "clusters instructed before any is ready"),
        first_wave,
        "25",
        "an update goes 5 at a time",
    ),
    read(
        (
            "F14",
            "100 clusters, maxUnavailable 5: 50, the check, the other 50.",
        ),
        (
            "hundred-5-update",
            "clusters instructed before any is ready",
        ),
        first_wave,
        "50",
        "no check in between",
    ),
    read(
        ("F15", "maxUnavailable is 100 % by default."),
        ("defaults", "limits of the partitions"),
        partition_limits,
        "50, 50, 50, 50",
        "",
    ),
    read(
        ("F16", "maxUnavailablePartitions is 0 by default."),
        ("defaults", "maxUnavailablePartitions"),
        partitions_allowed,
        "0",
        "",
    ),
    read(
        ("F17", "autoPartitionSize is 25 % by default."),
        ("defaults", "clusters of the partitions"),
        partition_sizes,
        "50, 50, 50, 50",
        "",
    ),
    read(
        (
            "F18",
            "autoPartitionThreshold is 200 by default: fewer clusters are one partition.",
        ),
        ("below-threshold", "clusters of the partitions"),
        partition_sizes,
        "199",
        "",
    ),
    read(
        ("F19", "With partitions, autoPartitionSize is ignored."),
        ("manual-and-auto", "clusters of the partitions"),
        partition_sizes,
        "5, 45",
        "",
    ),
    read(
        ("F20", "200 clusters, 25 %: four partitions of 50."),
        ("quarter", "clusters of the partitions"),
        partition_sizes,
        "50, 50, 50, 50",
        "",
    ),
    read(
        (
            "F21",
            "Below the threshold there is one partition, whatever the size.",
        ),
        ("below-threshold", "clusters of the partitions"),
        partition_sizes,
        "199",
        "",
    ),
    read(
        (
            "F22",
            "The threshold can be lowered (F24), or raised, e.g. to 500.",
        ),
        ("higher-threshold", "clusters of the partitions"),
        partition_sizes,
        "200",
        "",
    ),
    read(
        ("F23", "Threshold 0: one partition, whatever the number."),
        ("threshold-0", "clusters of the partitions"),
        partition_sizes,
        "200",
        "",
    ),
    read(
        (
            "F24",
            "The example with threshold 50 and 50 %: two partitions of 25.",
        ),
        ("example-threshold", "clusters of the partitions"),
        partition_sizes,
        "25, 25",
        "",
    ),
    read(
        ("F25", "The example with 10 % of staging and 5 % of prod."),
        ("example-manual", "limits of 20 and of 180 clusters"),
        partition_limits,
        "2, 9",
        "",
    ),
    read(
        (
            "F26",
            "Partitions select by name, labels, group, or labels of the group.",
        ),
        ("selectors", "clusters of the partitions"),
        partition_sizes,
        "1, 3, 3, 3",
        "",
    ),
    read(
        (
            "F27",
            "A partition is started, and the next one waits until it is ready enough.",
        ),
        (
            "five-partitions",
            "ready share of a partition when the next begins",
        ),
        ready_before_next,
        "at least 90 %",
        "",
    ),
    read(
        ("F28", "MaxNew is always 50."),
        ("max-new", "size of a batch"),
        batch,
        "50",
        "it limits creation, per pass and over all partitions",
    ),
    read(
        ("F29", "Partitions go in the order of fleet.yaml."),
        ("order", "first cluster that is instructed"),
        first_told,
        "b-1",
        "",
    ),
    read(
        ("F30", "Without limits, hundreds of clusters pull at once."),
        ("defaults", "`peak_pulls` of 200 clusters"),
        storm,
        "more than 100",
        "",
    ),
    read(
        (
            "F31",
            "There is no artificial delay: readiness alone decides.",
        ),
        (
            "five-partitions",
            "time from the ninth ready cluster of ten to the next partition",
        ),
        pause_between,
        "less than a second",
        "",
    ),
    read(
        (
            "F32",
            "200 in partitions of 40, 10 %: 40 at once, and on at 4 NotReady.",
        ),
        (
            "forty",
            "clusters instructed before any is ready, and ready share when the next begins",
        ),
        waves_of_partitions,
        "40, at least 90 %",
        "4 at a time in an update",
    ),
    read(
        ("F33", "Smaller partitions: fewer deployments at once."),
        ("smaller", "clusters instructed before any is ready"),
        first_wave,
        "20",
        "",
    ),
    read(
        (
            "F34",
            "230 clusters, 25 %: four partitions of 57, and one of 2.",
        ),
        ("two-hundred-thirty", "clusters of the partitions"),
        partition_sizes,
        "57, 57, 57, 57, 2",
        "",
    ),
    read(
        (
            "F35",
            "50 clusters, 10 %: all 50 at once, and the check behind them.",
        ),
        ("example-50", "clusters instructed before any is ready"),
        first_wave,
        "50",
        "an update goes 5 at a time",
    ),
    read(
        (
            "F36",
            "100 clusters, 10 %: the other 50 wait for fewer NotReady (\"at most 10\" counts).",
        ),
        (
            "example-100",
            "NotReady clusters when the 51st is instructed",
        ),
        not_ready_at_51,
        "at most 10",
        "",
    ),
    read(
        (
            "F37",
            "200 clusters, 10 partitions, one may be NotReady: about 40 pulls.",
        ),
        ("example-200", "clusters that update at once"),
        at_once,
        "40",
        "all 200 in the first pass of an update",
    ),
    read(
        ("F38", "Strict: the next partition when this one is ready."),
        (
            "example-strict",
            "start of the second partition, and the end",
        ),
        strict_order,
        "after the last, complete",
        "an update stalls indefinitely",
    ),
    read(
        (
            "F39",
            "At 100 % each partition counts as Ready immediately.",
        ),
        ("defaults", "clusters instructed before any is ready"),
        first_wave,
        "200",
        "",
    ),
    read(
        (
            "F40",
            "Lower limits let partitions become ready before the next.",
        ),
        ("two-away", "start of the second partition"),
        second_partition,
        "held until they are back",
        "",
    ),
];
