//! Constants of the products' agents and controllers.

use super::ConstantKind::{Count, Duration, Number};
use super::{Constant, RangeShape, guess, measured};

/// Products whose agent applies with Helm, as Rancher Fleet's does.
const HELM: &[&str] = &["rancherFleet", "allAtOnce", "batches", "oneByOne", "doubling", "external"];
const ARGO_CD: &[&str] = &["argoCd", "argoCdProposal"];
const KUBE_FLEET: &[&str] = &["kubeFleetStaged", "kubeFleetRolling"];
const CLOUD_FOUNDRY: &[&str] = &["cloudFoundry"];
/// Products whose controller talks to a Kubernetes API server.
const KUBERNETES: &[&str] = &[
    "rancherFleet",
    "allAtOnce",
    "batches",
    "oneByOne",
    "doubling",
    "external",
    "argoCd",
    "argoCdProposal",
    "kubeFleetStaged",
    "kubeFleetRolling",
];

const APPLY: &[&str] = &["|agent.apply"];
const INSTRUCTION: &[&str] = &["|agent.instructionDelay"];
const REPORT: &[&str] = &["|agent.reportDelay"];
const REQUEST: &[&str] = &["|controller.request"];

pub(super) const CONSTANTS: &[Constant] = &[
    measured(
        APPLY,
        Duration,
        ["1 s", "15 s"],
        "Flux's published benchmarks of its helm-controller: 2.6 to 3.0 s of a worker for a chart of 4 objects, 4.9 s \
         with Flux 2.5. An idle agent is faster; charts with many objects or hooks take several times as long (a guess)",
    )
    .of(HELM),
    measured(
        APPLY,
        Duration,
        ["0.3 s", "3 s"],
        "under 1 s for a ConfigMap (AWS, 2023, 10 to 13 requests), 3 s for a Service and more objects \
         (terraform-provider-argocd#887)",
    )
    .of(ARGO_CD),
    guess(
        APPLY,
        Duration,
        ["0.1 s", "1 s"],
        "half of the time from an object in the hub to the object in a member, with Karmada's published test as a \
         stand-in (0.61 s in the median)",
    )
    .of(KUBE_FLEET),
    guess(
        APPLY,
        Duration,
        ["0.3 s", "15 s"],
        "creating a container: single logs say 9 and 15 s on a loaded VM (cloudfoundry/diego-release#130) and 0.3 s for \
         staging (cloudfoundry/cli#1119)",
    )
    .of(CLOUD_FOUNDRY),
    guess(APPLY, Duration, ["0.2", "0.8"], "no distribution over clusters was found").sigma().of(HELM),
    guess(APPLY, Duration, ["0.2", "0.8"], "as above").sigma().of(ARGO_CD),
    guess(APPLY, Duration, ["0.2", "0.8"], "as above").sigma().of(KUBE_FLEET),
    guess(APPLY, Duration, ["0.2", "0.8"], "as above").sigma().of(CLOUD_FOUNDRY),
    guess(INSTRUCTION, Duration, ["0.1 s", "2 s"], "a watch over the site's link").of(HELM),
    guess(
        INSTRUCTION,
        Duration,
        ["10 ms", "1 s"],
        "one way over a connection that is open, and the API server's time",
    )
    .of(ARGO_CD),
    guess(INSTRUCTION, Duration, ["0.1 s", "1 s"], "half of Karmada's published time, as for `apply`")
        .of(KUBE_FLEET),
    guess(INSTRUCTION, Duration, ["0.1 s", "2 s"], "the auction that finds a cell").of(CLOUD_FOUNDRY),
    guess(REPORT, Duration, ["0.1 s", "2 s"], "a write over the site's link").of(HELM),
    guess(REPORT, Duration, ["10 ms", "1 s"], "one way over a connection that is open").of(ARGO_CD),
    guess(REPORT, Duration, ["0.1 s", "2 s"], "a write over the site's link").of(KUBE_FLEET),
    guess(REPORT, Duration, ["0.1 s", "2 s"], "Diego's report to its database").of(CLOUD_FOUNDRY),
    measured(
        REQUEST,
        Duration,
        ["4 ms", "20 ms"],
        "writes to etcd 3.6: median 6.4 to 7.6 ms (rancher/dartboard @7a1d06b6), 7.9 ms with etcd 3.5, 13 to 16 ms on EKS \
         under load; a p95 of 188 to 275 ms with PostgreSQL is beyond the range",
    )
    .of(KUBERNETES),
    guess(REQUEST, Duration, ["1 ms", "20 ms"], "a query to a database on the same network").of(CLOUD_FOUNDRY),
    guess(
        &["|controller.watchDelay"],
        Duration,
        ["10 ms", "1 s"],
        "a watch event on an unloaded API server; no figure was found",
    )
    .of(KUBERNETES),
    guess(
        &["strategies.*.argoCd|applicationController.comparison"],
        Duration,
        ["50 ms", "1 s"],
        "comparing an application's objects with its manifests",
    )
    .of(&["argoCd"]),
    guess(
        &["strategies.*.argoCd|applicationController.idleSync"],
        Duration,
        ["0.3 s", "3 s"],
        "a sync that finds everything applied",
    )
    .of(&["argoCd"]),
    measured(
        &["strategies.*.argoCd|applicationController.requestsPerSync"],
        Count,
        ["10", "13"],
        "calibrated on AWS's published scale test (2023): 12.6 at 50 requests per second, 10.2 and 10.8 at 100 and 150",
    )
    .of(&["argoCd"])
    .shaped(RangeShape::Uniform),
    measured(
        &["strategies.*.argoCd|applicationController.syncsPerSecond"],
        Number,
        ["7", "20"],
        "calibrated on the same test with nodes of 16 cores; half as many cores are thought to do half as much",
    )
    .of(&["argoCd"]),
];
