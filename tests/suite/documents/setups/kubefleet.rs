//! The experiments of KubeFleet.

use super::super::files;
use super::{DocumentSetup, UPDATE};

/// The members of the document's three stages.
const MEMBERS: &[(&str, &str)] = &[
    ("stg-{1..3}", "environment: staging"),
    ("can-{1..2}", "environment: canary"),
    ("prod-a", "environment: production, order: '3'"),
    ("prod-b", "environment: production, order: '1'"),
    ("prod-c", "environment: production, order: '2'"),
];

const MEMBERS_AND_CLOSED: &[(&str, &str)] = &[
    ("stg-{1..3}", "environment: staging"),
    ("can-{1..2}", "environment: canary"),
    ("prod-a", "environment: production, order: '3'"),
    ("prod-b", "environment: production, order: '1'"),
    ("prod-c", "environment: production, order: '2'"),
    (
        "gone-{1..2}",
        "environment: production, order: '9', state: closed",
    ),
];

macro_rules! staged {
    ($fields:literal) => {
        (
            concat!("{kubeFleetStaged: {rules: documented, ", $fields, "}}"),
            concat!("{kubeFleetStaged: {", $fields, "}}"),
        )
    };
}

/// An experiment of KubeFleet whose strategies differ only in their rules.
const fn of_kubefleet(
    name: &'static str,
    (documented, shipped): (&'static str, &'static str),
) -> DocumentSetup {
    DocumentSetup {
        name,
        fleet: MEMBERS,
        documented,
        shipped,
        files: &[("strategy.yaml", files::STAGES), ("run.yaml", files::RUN)],
        ..UPDATE
    }
}

pub(in super::super) const KUBEFLEET: &[DocumentSetup] = &[
    DocumentSetup {
        fleet: MEMBERS_AND_CLOSED,
        ..of_kubefleet(
            "example-run",
            staged!(
                "file: strategy.yaml, resourceSnapshots: {installed: 0, release: 1}, \
            placements: [{name: example-placement, unpicked: {matchLabels: {state: closed}}}], \
            runs: [{file: run.yaml, resourceSnapshotIndex: '1', state: Run}], approvals: {after: 30 min}"
            ),
        )
    },
    DocumentSetup {
        release: "initial",
        ..of_kubefleet(
            "run-as-it-is",
            staged!(
                "file: strategy.yaml, resourceSnapshots: {release: 0}, \
            placements: [{name: example-placement}], runs: [{file: run.yaml}], approvals: {after: 30 min}"
            ),
        )
    },
    DocumentSetup {
        files: &[("placement.yaml", files::EXTERNAL)],
        ..of_kubefleet(
            "external",
            (
                "{kubeFleetRolling: {rules: documented, file: placement.yaml}}",
                "{kubeFleetRolling: {file: placement.yaml}}",
            ),
        )
    },
    DocumentSetup {
        files: &[("placement.yaml", files::ROLLING_PLACEMENT)],
        ..of_kubefleet(
            "default-placement",
            (
                "{kubeFleetRolling: {rules: documented, file: placement.yaml}}",
                "{kubeFleetRolling: {file: placement.yaml}}",
            ),
        )
    },
    of_kubefleet(
        "same-name",
        staged!(
            "stages: [{name: a, labelSelector: {matchLabels: {environment: staging}}}, \
        {name: a, labelSelector: {matchExpressions: [{key: environment, operator: NotIn, values: [staging]}]}}]"
        ),
    ),
    DocumentSetup {
        fleet: &[
            ("stg-{1..12}", "environment: staging"),
            ("prod-{1..2}", "environment: production"),
        ],
        ..of_kubefleet("no-key", staged!("stages: [{name: a, labelSelector: {}}]"))
    },
    of_kubefleet(
        "label-missing",
        staged!("stages: [{name: a, labelSelector: {}, sortingLabelKey: order}]"),
    ),
    of_kubefleet(
        "no-tasks",
        staged!(
            "stages: [{name: staging, labelSelector: {matchLabels: {environment: staging}}}, \
        {name: canary, labelSelector: {matchLabels: {environment: canary}}}, \
        {name: production, labelSelector: {matchLabels: {environment: production}}}]"
        ),
    ),
    DocumentSetup {
        others: "faults: {regional: [{selector: {matchLabels: {environment: staging}}, windows: [{from: 20 s, for: 2 h}]}]}\n",
        ..of_kubefleet(
            "staging-away",
            staged!("file: strategy.yaml, approvals: {after: 30 min}"),
        )
    },
    of_kubefleet(
        "two-approvals",
        staged!(
            "approvals: {after: 1 min}, stages: [{name: a, labelSelector: {}, \
        afterStageTasks: [{type: Approval}, {type: Approval}]}]"
        ),
    ),
    of_kubefleet(
        "no-wait-time",
        staged!("stages: [{name: a, labelSelector: {}, afterStageTasks: [{type: TimedWait}]}]"),
    ),
    DocumentSetup {
        others: "changes: [{after: 2 h, approve: {stage: canary, when: after}}, \
            {after: 3 h, approve: {stage: production, when: after}}]\n",
        ..of_kubefleet(
            "approved",
            staged!("file: strategy.yaml, approvals: {after: never}"),
        )
    },
    of_kubefleet(
        "never-approved",
        staged!(
            "file: strategy.yaml, placements: [{name: example-placement}], approvals: {after: never}"
        ),
    ),
    of_kubefleet(
        "run-later",
        staged!("runs: [{after: 10 min}], stages: [{name: a, labelSelector: {}}]"),
    ),
    of_kubefleet(
        "concurrency",
        staged!("stages: [{name: a, labelSelector: {}, maxConcurrency: 3}]"),
    ),
    DocumentSetup {
        others: "changes: [{after: 10 min, delete: placement}]\n",
        ..of_kubefleet(
            "placement-deleted",
            staged!("file: strategy.yaml, approvals: {after: 30 min}"),
        )
    },
    DocumentSetup {
        others: "changes: [{after: 10 min, \
            relabel: {clusters: {matchLabels: {order: '1'}}, labels: {environment: canary}}}]\n",
        ..of_kubefleet(
            "scheduling-changes",
            staged!("file: strategy.yaml, approvals: {after: 30 min}"),
        )
    },
    DocumentSetup {
        others: "changes: [{after: 10 min, edit: {stages: [{name: all, labelSelector: {}}]}}]\n",
        ..of_kubefleet(
            "strategy-edited",
            staged!("file: strategy.yaml, approvals: {after: 30 min}"),
        )
    },
    of_kubefleet(
        "in-no-stage",
        staged!("stages: [{name: a, labelSelector: {matchLabels: {environment: staging}}}]"),
    ),
    of_kubefleet(
        "in-two-stages",
        staged!(
            "stages: [{name: a, labelSelector: {matchLabels: {environment: staging}}}, \
        {name: b, labelSelector: {}}]"
        ),
    ),
    of_kubefleet(
        "empty-stage",
        staged!(
            "stages: [{name: e, labelSelector: {matchLabels: {environment: none}}, \
        afterStageTasks: [{type: TimedWait, waitTime: 1h}]}, {name: a, labelSelector: {}}]"
        ),
    ),
];
