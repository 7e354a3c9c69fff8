//! Constants of registries, images and their distribution.

use super::ConstantKind::{Duration, Link, Number, Share, Size, Throughput};
use super::{Constant, documented, guess, measured};

pub(super) const CONSTANTS: &[Constant] = &[
    measured(
        &["|registry.perConnection", "registries[*]|registry.perConnection"],
        Throughput,
        ["20 MB/s", "500 MB/s"],
        "AWS's guidance for S3 is 85 to 90 MB/s; ghcr.io gave 46 MB/s cold and about 500 warm \
         (spegel-org/benchmark-results @645a85c)",
    ),
    guess(
        &["|registry.serviceTime", "registries[*]|registry.serviceTime"],
        Duration,
        ["2 ms", "500 ms"],
        "a registry near its data answers in milliseconds, one with a database behind it in tenths of a second",
    ),
    guess(
        &["|registry.serviceTime", "registries[*]|registry.serviceTime"],
        Duration,
        ["0.2", "1"],
        "no distribution of answers was found",
    )
    .sigma(),
    measured(
        &["registry.cdn|cold", "registries[*].registry.cdn|cold"],
        Throughput,
        ["20 MB/s", "100 MB/s"],
        "ghcr.io: 1 GB in 24 to 32 s for every node that asked at once (spegel-org/benchmark-results @645a85c)",
    ),
    measured(
        &["registry.cdn|warm", "registries[*].registry.cdn|warm"],
        Throughput,
        ["200 MB/s", "1000 MB/s"],
        "ghcr.io: 1 GB in 6.0 s with unpacking (as above)",
    ),
    measured(
        &["release.images[*]|compressionRatio"],
        Number,
        ["1.5", "4"],
        "median of all layers on Docker Hub in 2017 (Zhao et al., CLUSTER '19, through notes on the paper); layers \
         have 1 to 5",
    ),
    guess(
        &["release.images[*].manifest|config", "release.images[*].previous|config"],
        Size,
        ["2 kB", "20 kB"],
        "config blobs of common images have 2 to 20 kB",
    ),
    guess(
        &["distribution.cache|egress"],
        Link,
        ["1 Gbit/s", "25 Gbit/s"],
        "one server on a local network",
    ),
    guess(
        &["distribution.cache|rtt"],
        Duration,
        ["0.2 ms", "5 ms"],
        "one local network, or several behind a router",
    ),
    guess(&["mirrors[*]|egress"], Link, ["1 Gbit/s", "25 Gbit/s"], "one server in a data centre"),
    guess(&["mirrors[*]|rtt"], Duration, ["1 ms", "20 ms"], "a region of a provider"),
    guess(
        &["distribution.spegel|lookup"],
        Duration,
        ["1 ms", "10 ms"],
        "within the time-out of 20 ms; the six or more requests of a small image took about 25 ms in all \
         (spegel-org/benchmark-results @645a85c)",
    ),
    measured(
        &["distribution.spegel|peerConnection"],
        Throughput,
        ["230 MB/s", "1000 MB/s"],
        "fitted to pulls of 1 GB from peers (spegel-org/benchmark-results @645a85c); 233 MB/s from a slower disk",
    ),
    guess(
        &["distribution.kraken|announce", "distribution.dragonfly|announce"],
        Duration,
        ["10 ms", "500 ms"],
        "one exchange with a tracker or scheduler; Dragonfly repeats a request every 0.5 s",
    ),
    measured(
        &["distribution.kraken|effectiveness", "distribution.dragonfly|effectiveness"],
        Share,
        ["90%", "100%"],
        "Qiu and Srikant (SIGCOMM 2004), section 3: above 99 % for 50 pieces or more; that peers are as even as there is \
         a guess",
    )
    .absolute(),
    measured(
        &["distribution.lazy|startFraction"],
        Share,
        ["1%", "40%"],
        "6.4 % on the mean over 57 images (Harter et al., \"Slacker\", FAST '16)",
    ),
    documented(
        &["distribution.lazy|read"],
        Size,
        ["50 kB", "4 MB"],
        "the largest read that Linux asks of FUSE by default (32 pages); snapshotters use 50 kB to 4 MiB",
    ),
    guess(
        &["distribution.lazy|toc"],
        Size,
        ["10 kB", "5 MB"],
        "some 100 bytes for each file, compressed",
    ),
    guess(
        &["distribution.lazy|background"],
        Throughput,
        ["1 MB/s", "100 MB/s"],
        "the background fetch yields to reads on demand",
    ),
];
