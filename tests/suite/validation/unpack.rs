//! Unpacking against 110 published pull times of images that are nearly empty on the wire (container-chonks).
//!
//! For each set-up (machine, number of nodes) three parameters are fitted, as in the model: a constant, a time for
//! each layer, and a rate for uncompressed bytes. They are fitted to every other row of the set-up by least absolute
//! relative error; the world must then meet the remaining rows, which the fit did not use.
//!
//! EKS nodes show the page cache; six values of the same source, three parameters. Their volumes were gp2 volumes of
//! 150 GB (`experiments/pulling-aws/eks-config-8.yaml`).

use std::collections::BTreeMap;

use fleetsim::stats;
use fleetsim::units::{Bytes, BytesPerSec};
use fleetsim::world::calibration::UNPACK_PER_LAYER;
use fleetsim::world::{DiskClass, DiskSpec, NodeSpec};

use super::table::{Row, check_missed, compare, published, title};
use super::worlds::{DAY, base, layers, play, secs};

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

/// Pull times in a machine with the given disk and memory. Everything else has its default, except for the rate of the
/// machine's processor if that is given.
fn with_disk(
    disk: DiskSpec,
    memory_gb: f64,
    rate: Option<f64>,
    count: u64,
    uncompressed: u64,
) -> f64 {
    let defaults = NodeSpec::default();
    let mut world = base();
    world.images[0].layers = layers("chonk", count, 1_000 * count, uncompressed);
    world.node.unpack_per_layer = UNPACK_PER_LAYER.typical().into();
    world.node.pull_constant = defaults.pull_constant;
    world.node.unpack_rate =
        rate.map_or(defaults.unpack_rate, |rate| BytesPerSec::new(rate).into());
    let buffer = Bytes::new((0.15 * memory_gb * 1e9) as u64);
    world.node.disk = Some(DiskSpec { buffer, ..disk });
    play(&world, 1, DAY).pull_s()[0]
}

/// A test for c5a.4xlarge: only the machine's own disk and memory are set. Images that exceed the page cache are
/// limited by the disk. Images that fit into it are limited by the pipe to unpigz, which EKS's system has
/// (awslabs/amazon-eks-ami#1283): when containerd introduced the pipe, it measured 330 MB/s on another machine
/// (containerd/containerd#2640).
#[test]
fn the_disk_predicts_pulls_beyond_the_page_cache_and_a_pipe_all_others() {
    const WHY: &str =
        "within the page cache the pipe to unpigz decides, which passes 335 MB/s, not 200";
    const UNPIGZ: f64 = 330e6;
    for (rate, tolerance, expected) in [
        (
            None,
            0.2,
            &[("1.18 GB", WHY), ("2.77 GB", WHY), ("6.84 GB", WHY)][..],
        ),
        (Some(UNPIGZ), 0.15, &[]),
    ] {
        let rate_text = rate.map_or("the default rate".to_owned(), |rate| {
            format!("{} MB/s", rate / 1e6)
        });
        let set = if rate.is_some() {
            "1, as 335 MB/s were known when it was chosen"
        } else {
            "0"
        };
        title(
            &format!("EKS c5a.4xlarge, `disk: {{rate: 134 MB/s}}`, 32 GB, {rate_text}, s"),
            set,
        );
        let mut missed = Vec::new();
        for (gb, published) in EKS {
            let disk = DiskSpec {
                rate: BytesPerSec::new(GP2).into(),
                ..DiskSpec::default()
            };
            let (name, ours) = (
                format!("{gb} GB"),
                with_disk(disk, 32.0, rate, 9, (gb * 1e9) as u64),
            );
            if compare(&name, ours, published).abs() > tolerance {
                missed.push(name);
            }
        }
        check_missed(&missed, expected, &format!("{:.0} %", tolerance * 100.0));
    }
}

/// A test for n1-standard-16: only the class of the disk is set. The default rate of unpacking is the median of five
/// machines, which is the rate of this machine with local SSDs. So the boot disk is predicted, and local SSDs are
/// calibrated.
#[test]
fn the_default_rate_and_the_disk_class_predict_pulls_in_a_cloud() {
    let rows = published("unpack-chonks.csv");
    println!(
        "\nGKE n1-standard-16, disks by class, 60 GB, all else by default: median error, rows within 15 %"
    );
    // With many layers, the time per layer dominates: 8 to 27 ms by the fits above, 25 by default.
    for (setup, class, layers, nodes, range) in [
        ("gke-boot-disk", DiskClass::BootDisk, 9, 8, 0.0..0.1),
        ("gke-local-ssd", DiskClass::LocalNvme, 9, 4, 0.0..0.1),
        ("gke-local-ssd", DiskClass::LocalNvme, 9, 8, 0.0..0.1),
        ("gke-local-ssd", DiskClass::LocalNvme, 9, 16, 0.0..0.1),
        ("gke-local-ssd", DiskClass::LocalNvme, 9, 32, 0.0..0.1),
        ("gke-local-ssd", DiskClass::LocalNvme, 125, 8, 0.2..0.25),
    ] {
        let own = rows.iter().filter(|row| {
            let numbers = [row.number("layers") as u64, row.number("nodes") as u64];
            row.text("setup") == setup && numbers == [layers, nodes]
        });
        let error = |row: &Row| {
            let uncompressed = row.number("uncompressed_bytes") as u64;
            (with_disk(class.spec(), 60.0, None, layers, uncompressed) / measured(row) - 1.0).abs()
        };
        let errors: Vec<f64> = own.map(error).collect();
        let median = stats::median(&errors).expect("rows");
        let within = errors.iter().filter(|error| **error <= 0.15).count();
        println!(
            "  {setup}, {layers} layers, {nodes} nodes: {:.1} %, {within} of {}",
            median * 100.0,
            errors.len()
        );
        assert!(
            range.contains(&median),
            "{setup}, {layers} layers, {nodes} nodes: {median}"
        );
    }
}
