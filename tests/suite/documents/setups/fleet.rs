//! The experiments of Rancher Fleet.

use super::super::files;
use super::{DocumentSetup, UPDATE};

const fn labelled(count: usize) -> &'static [(&'static str, &'static str)] {
    match count {
        25 => &[
            ("a-{01..02}", "stage: demoRollout, env: staging"),
            ("b-{01..23}", "stage: stable, env: prod"),
        ],
        50 => &[
            ("a-{01..05}", "stage: demoRollout, env: staging"),
            ("b-{01..45}", "stage: stable, env: prod"),
        ],
        100 => &[
            ("a-{01..10}", "stage: demoRollout, env: staging"),
            ("b-{01..90}", "stage: stable, env: prod"),
        ],
        199 => &[
            ("a-{01..19}", "stage: demoRollout, env: staging"),
            ("b-{01..180}", "stage: stable, env: prod"),
        ],
        200 => &[
            ("a-{01..20}", "stage: demoRollout, env: staging"),
            ("b-{01..180}", "stage: stable, env: prod"),
        ],
        _ => &[
            ("a-{01..23}", "stage: demoRollout, env: staging"),
            ("b-{01..207}", "stage: stable, env: prod"),
        ],
    }
}

/// Two partitions of three.
const TWO_OF_THREE: &[(&str, &str)] = &[("a-{1..3}", "p: a"), ("b-{1..3}", "p: b")];

/// Two partitions of ten; two clusters of the first have another label.
const TWO_OF_TEN: &[(&str, &str)] = &[
    ("p1-{01..08}", "p: '1'"),
    ("p1-{09..09}", "p: '1', away: one"),
    ("p1-{10..10}", "p: '1', away: two"),
    ("p2-{01..10}", "p: '2'"),
];

const ONE_AWAY: &str = "faults: {regional: [{selector: {matchLabels: {away: one}}, windows: [{from: 0 s, for: 2 h}]}]}\n";

const TWO_AWAY: &str = "faults: {regional: [{selector: {matchExpressions: [{key: away, operator: Exists}]}, \
    windows: [{from: 0 s, for: 2 h}]}]}\n";

macro_rules! fleet {
    ($fields:literal) => {
        (
            concat!("{rancherFleet: {rules: documented, ", $fields, "}}"),
            concat!("{rancherFleet: {", $fields, "}}"),
        )
    };
}

/// An experiment of Rancher Fleet whose strategies differ only in their rules.
const fn of_fleet(
    name: &'static str,
    fleet: &'static [(&'static str, &'static str)],
    (documented, shipped): (&'static str, &'static str),
) -> DocumentSetup {
    DocumentSetup {
        name,
        fleet,
        documented,
        shipped,
        ..UPDATE
    }
}

pub(in super::super) const FLEET: &[DocumentSetup] = &[
    DocumentSetup {
        documented: "{rancherFleet: {rules: documented, statuses: documented, maxUnavailable: 0, partitions: [\
            {name: a, clusterSelector: {matchLabels: {p: a}}}, {name: b, clusterSelector: {matchLabels: {p: b}}}]}}",
        ..of_fleet(
            "two-partitions",
            TWO_OF_THREE,
            fleet!(
                "maxUnavailable: 100%, partitions: [\
            {name: a, maxUnavailable: 0%, clusterSelector: {matchLabels: {p: a}}}, \
            {name: b, maxUnavailable: 0%, clusterSelector: {matchLabels: {p: b}}}]"
            ),
        )
    },
    DocumentSetup {
        release: "initial",
        ..of_fleet(
            "two-partitions-first",
            TWO_OF_THREE,
            fleet!(
                "maxUnavailable: 0, partitions: [\
            {name: a, clusterSelector: {matchLabels: {p: a}}}, {name: b, clusterSelector: {matchLabels: {p: b}}}]"
            ),
        )
    },
    DocumentSetup {
        release: "initial",
        ..of_fleet(
            "five-partitions",
            &[
                ("p1-{01..10}", "p: '1'"),
                ("p2-{01..10}", "p: '2'"),
                ("p3-{01..10}", "p: '3'"),
                ("p4-{01..10}", "p: '4'"),
                ("p5-{01..10}", "p: '5'"),
            ],
            fleet!(
                "maxUnavailable: 10%, maxUnavailablePartitions: 0, autoPartitionThreshold: 50, autoPartitionSize: 20%"
            ),
        )
    },
    DocumentSetup {
        files: &[("fleet.yaml", "namespace: shop\n")],
        ..of_fleet("defaults", labelled(200), fleet!("file: fleet.yaml"))
    },
    of_fleet(
        "unpartitioned",
        labelled(50),
        fleet!("partitions: [{name: demoRollout, clusterSelector: {matchLabels: {env: staging}}}]"),
    ),
    DocumentSetup {
        release: "initial",
        others: ONE_AWAY,
        ..of_fleet(
            "one-away",
            TWO_OF_TEN,
            fleet!(
                "maxUnavailable: 10%, maxUnavailablePartitions: 0, partitions: [\
            {name: p1, clusterSelector: {matchLabels: {p: '1'}}}, {name: p2, clusterSelector: {matchLabels: {p: '2'}}}]"
            ),
        )
    },
    DocumentSetup {
        release: "initial",
        others: TWO_AWAY,
        ..of_fleet(
            "two-away",
            TWO_OF_TEN,
            fleet!(
                "maxUnavailable: 10%, maxUnavailablePartitions: 0, partitions: [\
            {name: p1, clusterSelector: {matchLabels: {p: '1'}}}, {name: p2, clusterSelector: {matchLabels: {p: '2'}}}]"
            ),
        )
    },
    DocumentSetup {
        release: "initial",
        others: TWO_AWAY,
        ..of_fleet(
            "one-partition-may",
            TWO_OF_TEN,
            fleet!(
                "maxUnavailable: 10%, maxUnavailablePartitions: 1, partitions: [\
            {name: p1, clusterSelector: {matchLabels: {p: '1'}}}, {name: p2, clusterSelector: {matchLabels: {p: '2'}}}]"
            ),
        )
    },
    DocumentSetup {
        others: "clusterGroups: [{name: two, selector: {matchLabels: {g: two}}}, \
            {name: three, labels: {tier: three}, selector: {matchLabels: {g: three}}}]\n",
        ..of_fleet(
            "selectors",
            &[
                ("one", "g: one"),
                ("two-{1..3}", "g: two"),
                ("three-{1..3}", "g: three"),
                ("four-{1..3}", "g: four"),
            ],
            fleet!(
                "maxUnavailable: 100%, partitions: [{name: n1, clusterName: one}, \
            {name: n2, clusterGroup: two}, {name: n3, clusterGroupSelector: {matchLabels: {tier: three}}}, \
            {name: n4, maxUnavailable: 1, clusterSelector: {matchLabels: {g: four}}}]"
            ),
        )
    },
    of_fleet(
        "own-limit",
        labelled(50),
        fleet!(
            "maxUnavailable: 1, partitions: [\
        {name: demoRollout, maxUnavailable: 100%, clusterSelector: {matchLabels: {env: staging}}}, \
        {name: stable, maxUnavailable: 100%, clusterSelector: {matchLabels: {env: prod}}}]"
        ),
    ),
    DocumentSetup {
        release: "initial",
        ..of_fleet("hundred-5", labelled(100), fleet!("maxUnavailable: 5"))
    },
    of_fleet("twenty-five", labelled(25), fleet!("maxUnavailable: 5")),
    of_fleet(
        "hundred-5-update",
        labelled(100),
        fleet!("maxUnavailable: 5"),
    ),
    of_fleet(
        "below-threshold",
        labelled(199),
        fleet!("autoPartitionSize: 10%"),
    ),
    of_fleet(
        "manual-and-auto",
        labelled(50),
        fleet!(
            "autoPartitionThreshold: 10, autoPartitionSize: 10%, partitions: [\
        {name: demoRollout, clusterSelector: {matchLabels: {env: staging}}}, \
        {name: stable, clusterSelector: {matchLabels: {env: prod}}}]"
        ),
    ),
    of_fleet("quarter", labelled(200), fleet!("autoPartitionSize: 25%")),
    of_fleet(
        "higher-threshold",
        labelled(200),
        fleet!("autoPartitionThreshold: 500"),
    ),
    of_fleet(
        "threshold-0",
        labelled(200),
        fleet!("autoPartitionThreshold: 0"),
    ),
    DocumentSetup {
        files: &[("fleet.yaml", files::THRESHOLD)],
        ..of_fleet(
            "example-threshold",
            labelled(50),
            fleet!("file: fleet.yaml"),
        )
    },
    DocumentSetup {
        files: &[("fleet.yaml", files::MANUAL)],
        ..of_fleet("example-manual", labelled(200), fleet!("file: fleet.yaml"))
    },
    DocumentSetup {
        release: "initial",
        ..of_fleet("max-new", &[("c-{01..60}", "a: b")], fleet!("maxNew: 10"))
    },
    of_fleet(
        "order",
        TWO_OF_THREE,
        fleet!(
            "maxUnavailable: 50%, partitions: [\
        {name: second, clusterSelector: {matchLabels: {p: b}}}, {name: first, clusterSelector: {matchLabels: {p: a}}}]"
        ),
    ),
    of_fleet(
        "forty",
        &[
            ("p1-{01..40}", "p: '1'"),
            ("p2-{01..40}", "p: '2'"),
            ("p3-{01..40}", "p: '3'"),
            ("p4-{01..40}", "p: '4'"),
            ("p5-{01..40}", "p: '5'"),
        ],
        fleet!("maxUnavailable: 10%, maxUnavailablePartitions: 0, autoPartitionSize: 20%"),
    ),
    DocumentSetup {
        release: "initial",
        ..of_fleet(
            "smaller",
            labelled(200),
            fleet!("maxUnavailable: 10%, maxUnavailablePartitions: 0, autoPartitionSize: 10%"),
        )
    },
    of_fleet(
        "two-hundred-thirty",
        labelled(230),
        fleet!("autoPartitionSize: 25%"),
    ),
    DocumentSetup {
        files: &[("fleet.yaml", files::TEN_PERCENT)],
        ..of_fleet("example-50", labelled(50), fleet!("file: fleet.yaml"))
    },
    DocumentSetup {
        files: &[("fleet.yaml", files::TEN_PERCENT)],
        ..of_fleet("example-100", labelled(100), fleet!("file: fleet.yaml"))
    },
    DocumentSetup {
        files: &[("fleet.yaml", files::ONE_PARTITION)],
        ..of_fleet("example-200", labelled(200), fleet!("file: fleet.yaml"))
    },
    DocumentSetup {
        files: &[("fleet.yaml", files::STRICT)],
        ..of_fleet("example-strict", labelled(200), fleet!("file: fleet.yaml"))
    },
];
