//! Constants of sites and nodes, of workloads, and of what fails.

use super::ConstantKind::{Duration, Link, Number, Share, Throughput};
use super::{Constant, RangeShape, documented, guess, measured};
use crate::document::path::Path;
use crate::document::tree::Node;

pub(super) const CONSTANTS: &[Constant] = &[
    guess(
        &["fleet[*]|downlink", "?inventory.links[*]|downlink", "inventory|default.downlink"],
        Link,
        ["20 Mbit/s", "500 Mbit/s"],
        "nobody publishes the links of fleets. Home lines, cellular and satellite links were measured (`site`), branch \
         offices are said to have 100 Mbit/s, data centres 10,000; the range is a fifth to five times of it",
    ),
    guess(
        &["fleet[*]|rtt", "?inventory.links[*]|rtt", "inventory|default.rtt"],
        Duration,
        ["5 ms", "150 ms"],
        "with the link above: 1 ms within a data centre, 30 ms for a branch, 80 ms over a cellular network, 50 ms over a \
         satellite in low orbit, 600 ms over a geostationary one",
    ),
    measured(
        &["?fleet[*]|downlink", "?inventory.links[*]|downlink", "?inventory|default.downlink"],
        Link,
        ["0.3", "1.7"],
        "0.87 to 1.12 within DSL, cable and fibre lines, 1.63 over all of them (FCC, September 2020); 1.1 to 1.3 over \
         cellular networks",
    )
    .sigma()
    .absolute(),
    measured(
        &["?fleet[*]|rtt", "?inventory.links[*]|rtt", "?inventory|default.rtt"],
        Duration,
        ["0.2", "0.6"],
        "0.29 to 0.37 within DSL, cable and fibre lines (FCC, September 2020), about 0.55 over all of them",
    )
    .sigma()
    .absolute(),
    guess(
        &["fleet[*]|loss", "?inventory.links[*]|loss", "inventory|default.loss"],
        Share,
        ["0%", "0.1%"],
        "a wired link loses next to nothing, retail sites 0.1 %, cellular networks 1 %",
    )
    .absolute(),
    documented(
        &["?|registry.tcp.headers"],
        Share,
        ["3.5%", "10%"],
        "66 of 1,514 bytes on Ethernet are headers (RFC 894, 791, 9293, 7323), 54 without TCP's time stamps; tunnels add \
         50 to 80 bytes and shorten the rest",
    )
    .absolute(),
    measured(
        &["?|registry.tcp.weightSpread"],
        Number,
        ["0.3", "1"],
        "calibrated on three storms over real TCP (results/lab: brownout, egress, mixed); the squared errors of first, \
         median, p95 and last pull are flat from 0.6 to 1, and a fourth storm (one-layer) prefers 0.45",
    )
    .absolute(),
    guess(
        &["|node.nic"],
        Link,
        ["1 Gbit/s", "25 Gbit/s"],
        "small servers have 1 Gbit/s, machines in data centres 10 to 25",
    ),
    measured(
        &["|node.unpackRate"],
        Throughput,
        ["130 MB/s", "335 MB/s"],
        "container-chonks @fa06749: 197 to 208 MB/s with a local SSD, 159 to 182 with a boot disk, 300 to 335 on EKS \
         within the page cache and 132 beyond",
    ),
    measured(
        &["|node.unpackSpread"],
        Number,
        ["0.05", "0.15"],
        "container-chonks: ±15 % over 64 nodes; at most 1.1 between the slowest and the fastest of 10 nodes \
         (spegel-org/benchmark-results @645a85c)",
    )
    .shaped(RangeShape::Uniform),
    measured(&["|node.unpackPerLayer"], Duration, ["12 ms", "34 ms"], "container-chonks, seven set-ups")
        .shaped(RangeShape::Uniform),
    measured(&["|node.pullConstant"], Duration, ["60 ms", "560 ms"], "container-chonks, seven set-ups")
        .shaped(RangeShape::Uniform),
    guess(
        &["|node.startOverhead"],
        Duration,
        ["0.5 s", "5 s"],
        "published medians of a whole pod start with its image present are 0.9 to 1.9 s (kubernetes/website, 2015) and \
         1.5 s (kube-burner); loaded nodes take longer",
    ),
    guess(
        &["release.workloads[*]|start"],
        Duration,
        ["1 s", "30 s"],
        "a static binary is ready within a second, a small web service in a few, a large JVM in ten times that",
    ),
    guess(
        &["release.workloads[*]|start"],
        Duration,
        ["0.3", "1"],
        "the same program starts at a pace that differs between sites and nodes",
    )
    .sigma(),
    guess(
        &["release.workloads[*]|termination"],
        Duration,
        ["0.5 s", "30 s"],
        "a process that obeys SIGTERM; Kubernetes waits for 30 s at most by default",
    ),
    documented(
        &["release.workloads[*].readiness|period"],
        Duration,
        ["1 s", "30 s"],
        "kubernetes/api `core/v1` Probe has the default; charts set 1 to 30 s",
    ),
    guess(
        &["?|faults.pullFailure"],
        Share,
        ["0%", "1%"],
        "no rate was found; registries and links of companies are thought to fail 0.1 to 1 % of attempts",
    )
    .absolute(),
    guess(
        &["faults.outages|between"],
        Duration,
        ["3 d", "365 d"],
        "the Weibull family is that of Schroeder and Gibson (DSN 2006); mean and shape are guesses",
    ),
    guess(
        &["faults.outages|repair"],
        Duration,
        ["10 min", "10 h"],
        "the lognormal family is that of Schroeder and Gibson, with means from under an hour to over a day",
    ),
    guess(&["faults.nodeLoss|between"], Duration, ["30 d", "1000 d"], "a node restarts or breaks some times a year"),
    guess(&["faults.nodeLoss|repair"], Duration, ["2 min", "4 h"], "a restart takes minutes, a repair hours"),
    documented(
        &["faults.nodeLoss|grace"],
        Duration,
        ["30 s", "50 s"],
        "`node-monitor-grace-period` of the kube-controller-manager: 40 s until 1.31, 50 s since",
    )
    .shaped(RangeShape::Uniform),
    guess(
        &["faults.defect|crashAfter"],
        Duration,
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
