//! Constants of sites and nodes, of workloads, and of what fails.

use super::{Constant, ConstantKind, RangeShape};
use crate::document::path::Path;
use crate::document::tree::Node;

pub(super) const CONSTANTS: &[Constant] = &[
    Constant::guess(
        &["fleet[*]|downlink", "?inventory.links[*]|downlink", "inventory|default.downlink"],
        ConstantKind::Link,
        ["20 Mbit/s", "500 Mbit/s"],
        "no distribution of site links was found. Retail sites have 20 to 50 Mbit/s, branch offices about 100, data \
         centres 10,000; the range is a fifth to five times of what a site of a known kind is said to have",
    ),
    Constant::guess(
        &["fleet[*]|rtt", "?inventory.links[*]|rtt", "inventory|default.rtt"],
        ConstantKind::Duration,
        ["5 ms", "150 ms"],
        "with the link above: 1 ms within a data centre, 30 ms for a branch, 80 ms over a cellular network, 600 ms over \
         a satellite",
    ),
    Constant::guess(
        &["fleet[*]|loss", "?inventory.links[*]|loss", "inventory|default.loss"],
        ConstantKind::Share,
        ["0%", "0.1%"],
        "a wired link loses next to nothing, retail sites 0.1 %, cellular networks 1 %",
    )
    .absolute(),
    Constant::guess(
        &["|node.nic"],
        ConstantKind::Link,
        ["1 Gbit/s", "25 Gbit/s"],
        "small servers have 1 Gbit/s, machines in data centres 10 to 25",
    ),
    Constant::measured(
        &["|node.unpackRate"],
        ConstantKind::Throughput,
        ["130 MB/s", "335 MB/s"],
        "container-chonks @fa06749: 197 to 208 MB/s with a local SSD, 159 to 182 with a boot disk, 300 to 335 on EKS \
         within the page cache and 132 beyond",
    ),
    Constant::measured(
        &["|node.unpackSpread"],
        ConstantKind::Number,
        ["0.05", "0.15"],
        "container-chonks: ±15 % over 64 nodes; at most 1.1 between the slowest and the fastest of 10 nodes \
         (spegel-org/benchmark-results @645a85c)",
    )
    .shaped(RangeShape::Uniform),
    Constant::measured(
        &["|node.unpackPerLayer"],
        ConstantKind::Duration,
        ["12 ms", "34 ms"],
        "container-chonks, seven set-ups",
    )
    .shaped(RangeShape::Uniform),
    Constant::measured(
        &["|node.pullConstant"],
        ConstantKind::Duration,
        ["60 ms", "560 ms"],
        "container-chonks, seven set-ups",
    )
    .shaped(RangeShape::Uniform),
    Constant::guess(
        &["|node.startOverhead"],
        ConstantKind::Duration,
        ["0.5 s", "5 s"],
        "published medians of a whole pod start with its image present are 0.9 to 1.9 s (kubernetes/website, 2015) and \
         1.5 s (kube-burner); loaded nodes take longer",
    ),
    Constant::guess(
        &["release.workloads[*]|start"],
        ConstantKind::Duration,
        ["1 s", "30 s"],
        "a static binary is ready within a second, a small web service in a few, a large JVM in ten times that",
    ),
    Constant::guess(
        &["release.workloads[*]|start"],
        ConstantKind::Duration,
        ["0.3", "1"],
        "the same program starts at a pace that differs between sites and nodes",
    )
    .sigma(),
    Constant::guess(
        &["release.workloads[*]|termination"],
        ConstantKind::Duration,
        ["0.5 s", "30 s"],
        "a process that obeys SIGTERM; Kubernetes waits for 30 s at most by default",
    ),
    Constant::documented(
        &["release.workloads[*].readiness|period"],
        ConstantKind::Duration,
        ["1 s", "30 s"],
        "kubernetes/api `core/v1` Probe has the default; charts set 1 to 30 s",
    ),
    Constant::guess(
        &["?|faults.pullFailure"],
        ConstantKind::Share,
        ["0%", "1%"],
        "no rate was found; registries and links of companies are thought to fail 0.1 to 1 % of attempts",
    )
    .absolute(),
    Constant::guess(
        &["faults.outages|between"],
        ConstantKind::Duration,
        ["3 d", "365 d"],
        "the Weibull family is that of Schroeder and Gibson (DSN 2006); mean and shape are guesses",
    ),
    Constant::guess(
        &["faults.outages|repair"],
        ConstantKind::Duration,
        ["10 min", "10 h"],
        "the lognormal family is that of Schroeder and Gibson, with means from under an hour to over a day",
    ),
    Constant::guess(
        &["faults.nodeLoss|between"],
        ConstantKind::Duration,
        ["30 d", "1000 d"],
        "a node restarts or breaks some times a year",
    ),
    Constant::guess(
        &["faults.nodeLoss|repair"],
        ConstantKind::Duration,
        ["2 min", "4 h"],
        "a restart takes minutes, a repair hours",
    ),
    Constant::documented(
        &["faults.nodeLoss|grace"],
        ConstantKind::Duration,
        ["30 s", "50 s"],
        "`node-monitor-grace-period` of the kube-controller-manager: 40 s until 1.31, 50 s since",
    )
    .shaped(RangeShape::Uniform),
    Constant::guess(
        &["faults.defect|crashAfter"],
        ConstantKind::Duration,
        ["1 s", "60 s"],
        "a missing setting ends a process within a second, a failing connection after its time-out",
    )
    .when(crashes),
];

/// Only a container that crashes, and never works, has a time until its crash.
fn crashes(defect: &Node) -> bool {
    let is = |key: &str| defect.get(&Path::of(key));
    is("detectedAfter").is_none() && is("kind").is_none_or(|kind| kind.short_text() == "crashes")
}
