//! Unpacking against 110 published pull times of images that are nearly empty on the wire (container-chonks).
//!
//! There are two worlds. One is what a user gets: the defaults, and the facts that the source states. The other is
//! fitted, and shows whether the form of the model is right: for each set-up (machine, number of nodes) a constant, a
//! time for each layer, and a rate for uncompressed bytes are fitted to every other row of the set-up by least absolute
//! relative error, without requests; the world must then meet the remaining rows, which the fit did not use.
//!
//! EKS nodes show the page cache; six values of the same source, three parameters. Their volumes were gp2 volumes of
//! 150 GB (`experiments/pulling-aws/eks-config-8.yaml`).

use std::collections::BTreeMap;

use fleetsim::stats;
use fleetsim::units::{Bytes, BytesPerSec};
use fleetsim::world::calibration::UNPACK_PER_LAYER;
use fleetsim::world::{DiskClass, DiskSpec};

use super::table::{Row, compare, published, title};
use super::worlds::{DAY, base, cloud, layers, play, secs};

/// EKS c5a.4xlarge (32 GB), ghcr.io, nine layers: uncompressed GB and seconds.
const EKS: [(f64, f64); 6] = [
    (1.18, 3.9),
    (2.77, 8.3),
    (6.84, 20.4),
    (10.9, 46.8),
    (15.0, 77.6),
    (19.0, 108.5),
];

/// Bytes per second of a gp2 volume of up to 170 GiB: 128 MiB/s. Source: awsdocs/amazon-ec2-user-guide @0147f87
/// `general-purpose.md`.
const GP2: f64 = 134.2e6;

/// The three fitted parameters: constant in seconds, seconds for each layer, seconds for each byte.
type Triple = [f64; 3];

fn terms(row: &Row) -> Triple {
    [1.0, row.number("layers"), row.number("uncompressed_bytes")]
}

fn measured(row: &Row) -> f64 {
    row.number("pull_s_median")
}

/// Returns the smallest median of relative errors, searched over the triples that fit three rows exactly (Rousseeuw,
/// "Least median of squares regression", JASA 79, 1984): a few rows that were slowed down by something else do not
/// affect it.
fn fit(rows: &[&Row]) -> Triple {
    let mut best = (f64::INFINITY, [0.0; 3]);
    for (at, a) in rows.iter().enumerate() {
        for (then, b) in rows.iter().enumerate().skip(at + 1) {
            for c in &rows[then + 1..] {
                let Some(triple) = through(
                    [terms(a), terms(b), terms(c)],
                    [a, b, c].map(|row| measured(row)),
                ) else {
                    continue;
                };
                let errors: Vec<f64> = rows.iter().map(|row| error(row, triple).abs()).collect();
                let median = stats::median(&errors).expect("rows");
                if median < best.0 {
                    best = (median, triple);
                }
            }
        }
    }
    if best.0.is_infinite() {
        // All rows have the same number of layers, so the time per layer cannot be separated from the constant; the
        // time per layer has the model's default.
        let (first, last) = (rows[0], rows[rows.len() - 1]);
        let default = ([0.0, 1.0, 0.0], UNPACK_PER_LAYER.typical().as_secs_f64());
        let y = [measured(first), default.1, measured(last)];
        // If the default leaves nothing for the constant, the constant and the time per layer are zero, and all of the
        // time is for bytes.
        let bytes_alone = [0.0, 0.0, measured(last) / terms(last)[2]];
        best.1 = through([terms(first), default.0, terms(last)], y).unwrap_or(bytes_alone);
    }
    best.1
}

fn error(row: &Row, triple: Triple) -> f64 {
    terms(row)
        .iter()
        .zip(triple)
        .map(|(term, times)| term * times)
        .sum::<f64>()
        / measured(row)
        - 1.0
}

/// The triple for which each of three rows of terms gives its `y`; `None` if the rows do not determine it, or the
/// result is not plausible.
fn through([a, b, c]: [Triple; 3], y: [f64; 3]) -> Option<Triple> {
    let cross = |u: Triple, v: Triple| {
        [
            u[1] * v[2] - u[2] * v[1],
            u[2] * v[0] - u[0] * v[2],
            u[0] * v[1] - u[1] * v[0],
        ]
    };
    let [bc, ca, ab] = [cross(b, c), cross(c, a), cross(a, b)];
    let determinant: f64 = a.iter().zip(bc).map(|(x, y)| x * y).sum();
    // Solves the equations by Cramer's rule.
    let triple = [0, 1, 2].map(|at| (y[0] * bc[at] + y[1] * ca[at] + y[2] * ab[at]) / determinant);
    (determinant != 0.0 && triple[0] >= 0.0 && triple[1] >= 0.0 && triple[2] > 0.0)
        .then_some(triple)
}

/// The time of one pull in a world with the given parameters.
fn simulated(row: &Row, [constant, per_layer, per_byte]: Triple) -> f64 {
    let mut world = base();
    let count = row.number("layers") as u64;
    let uncompressed = row.number("uncompressed_bytes") as u64;
    // The wire carries 2 to 21 MB; its time is part of the constants.
    world.images[0].layers = layers("chonk", count, 1_000 * count, uncompressed);
    world.node.pull_constant = secs(constant.max(0.0)).into();
    world.node.unpack_per_layer = secs(per_layer).into();
    world.node.unpack_rate = BytesPerSec::new(1.0 / per_byte).into();
    play(&world, 1, DAY).pull_s()[0]
}

#[test]
fn three_parameters_predict_the_pull_times_of_images_with_9_and_125_layers() {
    let rows = published("unpack-chonks.csv");
    let mut setups: BTreeMap<(String, u64), Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        setups
            .entry((row.text("setup").to_owned(), row.number("nodes") as u64))
            .or_default()
            .push(row);
    }
    println!("\nUnpacking (container-chonks): median relative error of pull times");
    println!("  parameters set: 3 for each set-up, on its odd rows");
    println!(
        "  {:18} {:>5} {:>10} {:>10} {:>9}  {:>10} {:>10}",
        "set-up", "nodes", "constant", "per layer", "rate", "odd rows", "even rows"
    );
    for ((setup, nodes), rows) in setups {
        let odd: Vec<&Row> = rows.iter().copied().step_by(2).collect();
        let even: Vec<&Row> = rows.iter().copied().skip(1).step_by(2).collect();
        let triple = fit(&odd);
        let [constant, per_layer, per_byte] = triple;
        let median = |rows: &[&Row]| {
            let errors: Vec<f64> = rows
                .iter()
                .map(|row| (simulated(row, triple) / measured(row) - 1.0).abs())
                .collect();
            stats::median(&errors).expect("rows")
        };
        let (fitted, blind) = (median(&odd), median(&even));
        println!(
            "  {setup:18} {nodes:5} {constant:8.3} s {:7.1} ms {:4.0} MB/s  {:8.1} % {:8.1} %",
            per_layer * 1e3,
            1e-6 / per_byte,
            fitted * 100.0,
            blind * 100.0
        );
        assert!(
            fitted <= 0.10 && blind <= 0.10,
            "{setup} {nodes}: {fitted} fitted, {blind} blind"
        );
        assert!(
            (0.0..0.6).contains(&constant) && (0.0..0.07).contains(&per_layer),
            "parameters that mean something"
        );
        assert!(
            (150e6..250e6).contains(&(1.0 / per_byte)),
            "as fast as a disk"
        );
    }
}

#[test]
fn a_page_cache_in_front_of_the_disk_explains_the_knee_of_eks_nodes() {
    let mut world = base();
    world.node.pull_constant = secs(0.3).into();
    world.node.unpack_per_layer = secs(0.025).into();
    world.node.unpack_rate = BytesPerSec::new(347e6).into();
    // The buffer is 15 % of 32 GB, where the kernel begins to slow writers down.
    world.node.disk = Some(DiskSpec {
        rate: BytesPerSec::new(GP2).into(),
        buffer: Bytes::new(4_800_000_000),
        ..DiskSpec::default()
    });
    title(
        "EKS c5a.4xlarge, nine layers, s",
        "1 (347 MB/s); the disk's two are what the machine suggests",
    );
    let mut errors = Vec::new();
    for (gb, published) in EKS {
        world.images[0].layers = layers("chonk", 9, 9_000, (gb * 1e9) as u64);
        let ours = play(&world, 1, DAY).pull_s()[0];
        errors.push(compare(&format!("{gb} GB"), ours, published).abs());
    }
    assert!(
        stats::median(&errors).expect("rows") <= 0.05 && errors.iter().all(|error| *error <= 0.10),
        "{errors:?}"
    );
    world.node.disk = None;
    let without = play(&world, 1, DAY).pull_s()[0];
    assert!(
        without < 0.55 * 108.5,
        "one rate alone cannot tell both ends: {without}"
    );
}

/// The labels of the comparisons in the world that a user gets.
const CALIBRATED: &str = "3: the rate of this content, the constant, and the time of a layer";

/// A published machine, as an experiment states it. Everything else has its default.
#[derive(Clone, Copy, Debug)]
struct Machine {
    disk: DiskClass,
    memory_gb: f64,
    /// The rate of the content, from the table in docs/experiment-format/nodes.md; `None`: the default, for programs.
    unpack_rate: Option<f64>,
    constants: Constants,
}

/// The constant of a pull and the time of a layer.
#[derive(Clone, Copy, Debug)]
enum Constants {
    /// The defaults, which were fitted with the requests of a pull.
    Default,
    /// 300 and 25 ms, fitted without requests, so that an experiment counts these twice.
    WithRequests,
}

/// GKE's n1-standard-16 with 60 GB, and layers of zeros.
const GKE: Machine = Machine {
    disk: DiskClass::LocalNvme,
    memory_gb: 60.0,
    unpack_rate: Some(200e6),
    constants: Constants::Default,
};

/// EKS' c5a.4xlarge with 32 GB, whose containerd passes layers of zeros to unpigz.
const C5A: Machine = Machine {
    disk: DiskClass::Gp3,
    memory_gb: 32.0,
    unpack_rate: Some(330e6),
    constants: Constants::Default,
};

/// An image as the source states it.
#[derive(Clone, Copy, Debug)]
struct Chonk {
    layers: u64,
    uncompressed: u64,
    /// Number of nodes that pull it at the same time.
    nodes: u32,
}

impl Chonk {
    fn of(row: &Row) -> Self {
        Self {
            layers: row.number("layers") as u64,
            uncompressed: row.number("uncompressed_bytes") as u64,
            nodes: row.number("nodes") as u32,
        }
    }
}

/// Returns the median duration of the pulls of all nodes, over three runs.
fn with_defaults(machine: Machine, chonk: Chonk) -> f64 {
    let mut world = cloud();
    // 2 MB compressed for the smallest image, 21 for the largest.
    let compressed = 2_000_000 + chonk.uncompressed / 1000;
    world.images[0].layers = layers("chonk", chonk.layers, compressed, chonk.uncompressed);
    world.clusters[0].nodes = chonk.nodes.into();
    if let Some(rate) = machine.unpack_rate {
        world.node.unpack_rate = BytesPerSec::new(rate).into();
    }
    if matches!(machine.constants, Constants::WithRequests) {
        world.node.pull_constant = secs(0.3).into();
        world.node.unpack_per_layer = secs(0.025).into();
    }
    // Linux throttles writers once 15% of the memory is dirty.
    let mut disk = machine.disk.spec();
    disk.buffer = Bytes::new((0.15 * machine.memory_gb * 1e9) as u64);
    if machine.disk == DiskClass::Gp3 {
        disk.rate = BytesPerSec::new(GP2).into();
    }
    world.node.disk = Some(disk);
    let mut seconds = Vec::new();
    for seed in 1..=3 {
        seconds.extend(play(&world, seed, DAY).pull_s());
    }
    stats::median(&seconds).expect("pulls")
}

/// Returns the relative errors of the rows of a set-up, in the world that a user gets.
fn errors_with_defaults(machine: Machine, setup: &str, layers: u64) -> Vec<f64> {
    let mut errors = Vec::new();
    for row in published("unpack-chonks.csv") {
        if row.text("setup") == setup && row.number("layers") as u64 == layers {
            let simulated = with_defaults(machine, Chonk::of(&row));
            errors.push(simulated / measured(&row) - 1.0);
        }
    }
    errors
}

/// Prints and returns how many of the errors are within 20 %.
fn agreeing(name: &str, errors: &[f64]) -> usize {
    let absolute: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let within = absolute.iter().filter(|error| **error <= 0.2).count();
    let median = stats::median(&absolute).expect("rows");
    println!(
        "  {name:44} {within:3} of {:3} within 20 %, median {:.1} %",
        errors.len(),
        median * 100.0
    );
    within
}

/// The world that a user gets: the defaults, and what the source states: a cloud, nodes, layers, the disk's class, the
/// machine's memory, and that the layers contain zeros. The defaults of the constant and of the time per layer were
/// fitted to these rows, with requests, and so was the rate of zeros.
#[test]
fn the_defaults_and_the_stated_facts_give_the_pull_times_of_gke() {
    println!("\nUnpacking with the defaults and what the source states, GKE n1-standard-16");
    println!("  parameters set on these rows: {CALIBRATED}");
    let few = agreeing(
        "local SSD, 9 layers, 4 to 32 nodes",
        &errors_with_defaults(GKE, "gke-local-ssd", 9),
    );
    let many = agreeing(
        "local SSD, 125 layers, 4 to 32 nodes",
        &errors_with_defaults(GKE, "gke-local-ssd", 125),
    );
    let boot_disk = Machine {
        disk: DiskClass::BootDisk,
        ..GKE
    };
    let boot = agreeing(
        "boot disk, 9 layers",
        &errors_with_defaults(boot_disk, "gke-boot-disk", 9),
    );
    assert!(few >= 54, "{few} of 71 rows with 9 layers");
    assert!(
        (38..54).contains(&many),
        "{many} of 76 rows with 125 layers"
    );
    assert_eq!(boot, 6, "rows with a boot disk");
    let twice = Machine {
        constants: Constants::WithRequests,
        ..GKE
    };
    let before = [9, 125].map(|layers| {
        let errors = errors_with_defaults(twice, "gke-local-ssd", layers);
        agreeing(&format!("{layers} layers, requests counted twice"), &errors)
    });
    assert!(before[0] < few - 15, "{before:?}: requests matter");
    let programs = Machine {
        unpack_rate: None,
        ..GKE
    };
    let unstated = agreeing(
        "9 layers, if nobody says that they are zeros",
        &errors_with_defaults(programs, "gke-local-ssd", 9),
    );
    assert!(
        unstated < 30,
        "zeros unpack faster than programs: {unstated}"
    );
}

/// EKS' disk limits images that exceed the page cache; the pipe to unpigz limits the others. EKS' system has unpigz
/// (awslabs/amazon-eks-ami#1283), and when containerd introduced the pipe, it measured 330 MB/s on another machine
/// (containerd/containerd#2640).
#[test]
fn the_defaults_and_the_stated_facts_give_the_pull_times_of_eks() {
    title(
        "EKS c5a.4xlarge, gp2, 32 GB, zeros with unpigz, s",
        "1, as 335 MB/s were known when the rate of zeros with unpigz was chosen",
    );
    for (gb, published) in EKS {
        let chonk = Chonk {
            layers: 9,
            uncompressed: (gb * 1e9) as u64,
            nodes: 1,
        };
        let error = compare(&format!("{gb} GB"), with_defaults(C5A, chonk), published);
        assert!(error.abs() <= 0.15, "{gb} GB: {error}");
    }
}
