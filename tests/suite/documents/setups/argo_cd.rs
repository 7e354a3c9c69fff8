//! The experiments of Argo CD's ApplicationSets.

use super::super::files;
use super::{DocumentSetup, UPDATE};

/// Applications of the proposal's three steps.
const APPLICATIONS: &[(&str, &str)] = &[
    ("dev-{1..5}", "env: dev"),
    ("qa-{1..3}", "env: qa"),
    ("region-{1..2}", "env: us_east_2"),
    ("region-{3..4}", "env: eu_west_1"),
    ("region-{5..6}", "env: ap_south_1"),
];

macro_rules! steps {
    ($steps:expr) => {
        (
            concat!(
                "{argoCdProposal: {strategy: {type: RollingUpdate, rollingUpdate: {steps: [",
                $steps,
                "]}}}}"
            ),
            concat!(
                "{argoCd: {strategy: {type: RollingSync, rollingSync: {steps: [",
                $steps,
                "]}}}}"
            ),
        )
    };
}

macro_rules! dev {
    ($limit:literal) => {
        concat!(
            "{matchExpressions: [{key: env, operator: In, values: [dev]}]",
            $limit,
            "}"
        )
    };
}

macro_rules! qa {
    () => {
        "{matchExpressions: [{key: env, operator: In, values: [qa]}]}"
    };
}

macro_rules! regions {
    () => {
        "{matchExpressions: [{key: env, operator: In, values: [us_east_2, eu_west_1, ap_south_1]}], maxUpdate: 1}"
    };
}

/// An experiment of Argo CD with the proposal's steps, for the proposal and for the shipped rules.
const fn of_argo_cd(
    name: &'static str,
    (documented, shipped): (&'static str, &'static str),
) -> DocumentSetup {
    DocumentSetup {
        name,
        fleet: APPLICATIONS,
        documented,
        shipped,
        ..UPDATE
    }
}

const DEV_5_AWAY: &str = "faults: {regional: [{selector: {matchLabels: {bad: 'y'}}, windows: [{from: 0 s, for: 23 h}]}]}\n";

const WITH_DEV_5: &[(&str, &str)] = &[
    ("dev-{1..4}", "env: dev"),
    ("dev-5", "env: dev, bad: 'y'"),
    ("qa-{1..3}", "env: qa"),
];

pub(in super::super) const ARGO_CD: &[DocumentSetup] = &[
    of_argo_cd("no-strategy", ("{argoCdProposal: {}}", "{argoCd: {}}")),
    of_argo_cd(
        "replace",
        (
            "{argoCdProposal: {strategy: {type: Replace}}}",
            "{argoCd: {strategy: {type: Replace}}}",
        ),
    ),
    of_argo_cd(
        "no-steps",
        (
            "{argoCdProposal: {strategy: {type: RollingUpdate}}}",
            "{argoCd: {strategy: {type: RollingSync, rollingSync: {steps: []}}}}",
        ),
    ),
    DocumentSetup {
        files: &[("appset.yaml", files::PROPOSAL)],
        ..of_argo_cd(
            "example-set",
            (
                "{argoCdProposal: {file: appset.yaml}}",
                steps!(concat!(dev!(""), ", ", qa!(), ", ", regions!())).1,
            ),
        )
    },
    DocumentSetup {
        files: &[("appset.yaml", files::PROPOSAL)],
        ..of_argo_cd(
            "example-set-in-argoCd",
            (
                "{argoCdProposal: {file: appset.yaml}}",
                "{argoCd: {file: appset.yaml}}",
            ),
        )
    },
    DocumentSetup {
        fleet: &[
            ("engineering-dev", ""),
            ("engineering-prod", ""),
            ("finance-preprod", ""),
        ],
        files: &[
            ("appset.yaml", files::PROPOSAL_WITH_LABELS),
            ("sync.yaml", files::SYNC_WITH_LABELS),
        ],
        ..of_argo_cd(
            "elements",
            (
                "{argoCdProposal: {file: appset.yaml, generate: true}}",
                "{argoCd: {file: sync.yaml}}",
            ),
        )
    },
    of_argo_cd("zero", steps!(dev!(", maxUpdate: 0"))),
    of_argo_cd(
        "quarter-of-applications",
        steps!("{matchExpressions: [{key: env, operator: NotIn, values: [none]}], maxUpdate: 25%}"),
    ),
    of_argo_cd(
        "not-in",
        steps!(concat!(
            "{matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}, ",
            dev!(", maxUpdate: 1")
        )),
    ),
    DocumentSetup {
        release: "initial",
        ..of_argo_cd(
            "first-sets",
            steps!(concat!(dev!(""), ", ", qa!(), ", ", regions!())),
        )
    },
    DocumentSetup {
        fleet: WITH_DEV_5,
        others: DEV_5_AWAY,
        documented: "{argoCdProposal: {statuses: documented, strategy: {type: RollingUpdate, rollingUpdate: {steps: [\
            {matchExpressions: [{key: env, operator: In, values: [dev]}], maxUpdate: 2}, \
            {matchExpressions: [{key: env, operator: In, values: [qa]}]}]}}}}",
        ..of_argo_cd(
            "failing",
            steps!(concat!(dev!(", maxUpdate: 2"), ", ", qa!())),
        )
    },
    DocumentSetup {
        others: "changes: [{after: 12 s, release: installed}]\n",
        ..of_argo_cd(
            "changed",
            steps!(concat!(
                dev!(", maxUpdate: 2"),
                ", ",
                qa!(),
                ", ",
                regions!()
            )),
        )
    },
    DocumentSetup {
        others: "changes: [{after: 2 s, relabel: {clusters: {matchLabels: {env: qa}}, labels: {env: dev}}}]\n",
        ..of_argo_cd(
            "other-destinations",
            steps!(concat!(dev!(""), ", ", regions!())),
        )
    },
    of_argo_cd("unselected", steps!(dev!(""))),
];
