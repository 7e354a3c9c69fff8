//! The rates of image pulls, from the durations of pulls of images whose layers are known.
//!
//! | file | contents |
//! |---|---|
//! | `pipeline` | the duration of a pull by the model |
//! | `least_squares` | its parameters from measured durations |
//!
//! Which parameters can be fitted depends on the images. A further one (the download rate; a disk that is slower than
//! the memory in front of it) is accepted only if it explains the durations much better (Schwarz' criterion). One that
//! the images do not determine is reported as such.

mod choice;
mod least_squares;
mod pipeline;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::events::ContainerStart;
use super::fit::duration as in_words;
use super::images::{KnownImages, KnownLayer};
use crate::results::{CalibratedValue, ImageRow, RateParameter, RatesRecord};
use crate::stats;
use crate::units::display::significant;
use crate::units::{Bytes, BytesPerSec, SimDuration, counted};
use crate::world::{DiskSpec, NodeSpec, RegistrySpec};
use choice::{Chosen, Knowledge, choose};
use least_squares::PullGroup;
pub(in crate::calibrate) use pipeline::LayerBytes;
use pipeline::{CONSTANT, DOWNLOAD, PER_LAYER, RequestTimes, UNPACK, duration};

/// Median error from which on the model does not describe the pulls.
pub(super) const MOST_ERROR: f64 = 0.25;

/// Bytes per second that no disk of a node writes. Source: four lanes of PCI Express 5.0 carry 15.8 GB/s (32 GT/s each,
/// 128 of 130 bits).
const FASTEST_DISK: f64 = 20e9;
/// The unpack rate where one rate stands for download and unpacking.
const UNPACKED_ALREADY: &str = "1000 GB/s";

/// Settings of the fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSettings<'s> {
    pub(super) images: &'s KnownImages,
    /// Uncompressed over compressed bytes where the former are not known.
    pub(super) compression_ratio: f64,
    /// Round trip to the registry, in seconds.
    pub(super) rtt: f64,
    /// The registry's time for one request, in seconds.
    pub(super) service: f64,
}

/// The fitted pull model, in seconds and bytes per second. `None`: not determined, and left out of the fit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PullModel {
    pub(super) constant_s: f64,
    pub(super) per_layer_s: f64,
    pub(super) unpack_rate: Option<f64>,
    pub(super) download_rate: Option<f64>,
    /// Rate of the disk, and bytes in front of it.
    pub(super) disk: Option<(f64, f64)>,
    /// Sigma of the rate between nodes.
    pub(super) spread: Option<f64>,
}

impl PullModel {
    /// Replaces the settings that were fitted.
    pub(super) fn apply(&self, node: &mut NodeSpec, registry: &mut RegistrySpec) {
        node.pull_constant = SimDuration::from_secs_f64(self.constant_s).into();
        node.unpack_per_layer = SimDuration::from_secs_f64(self.per_layer_s).into();
        if let Some(rate) = self.unpack_rate {
            node.unpack_rate = BytesPerSec::new(rate).into();
        }
        if let Some(spread) = self.spread {
            node.unpack_spread = spread.min(2.0);
        }
        node.disk = self.disk.map(|(rate, buffer)| {
            let buffer = Bytes::new(buffer.max(0.0) as u64);
            DiskSpec {
                rate: BytesPerSec::new(rate).into(),
                buffer,
                ..DiskSpec::default()
            }
        });
        if let Some(rate) = self.download_rate {
            registry.per_connection = Some(BytesPerSec::new(rate));
        }
    }

    /// The duration of a pull of these layers: compressed and uncompressed bytes.
    #[cfg(test)]
    pub(super) fn seconds(&self, layers: &[LayerBytes]) -> f64 {
        let per_byte = |rate: Option<f64>| rate.map_or(0.0, f64::recip);
        let at = [
            self.constant_s,
            self.per_layer_s,
            per_byte(self.unpack_rate),
            per_byte(self.download_rate),
            0.0,
        ];
        duration(&at, layers, RequestTimes::default(), None).0
    }
}

/// Fitted rates with everything to report about them.
#[derive(Clone, Debug)]
pub(super) struct FittedRates {
    pub(super) record: RatesRecord,
    pub(super) values: Vec<CalibratedValue>,
    pub(super) warnings: Vec<String>,
    pub(super) model: PullModel,
    /// The layers that were missing, of each image of the record.
    pub(super) layers: Vec<Vec<LayerBytes>>,
}

/// An image with the compressed and uncompressed bytes of the layers that were missing.
type PulledLayers = (String, Vec<(u64, u64)>);

/// Pulls by image and missing layers.
#[derive(Debug, Default)]
struct Grouped {
    /// Durations with their nodes.
    groups: BTreeMap<PulledLayers, Vec<(f64, String)>>,
    are_sizes_assumed: bool,
}

/// Fits the rates. `None` without a pull of an image whose layers or size are known.
pub(super) fn fit(
    starts: &[ContainerStart],
    settings: &RateSettings<'_>,
    source: &str,
) -> Option<FittedRates> {
    let mut grouped = grouped(starts, settings, false);
    let knowledge = if grouped.groups.is_empty() {
        Knowledge::Sizes
    } else {
        Knowledge::Layers
    };
    if knowledge == Knowledge::Sizes {
        grouped = self::grouped(starts, settings, true);
    }
    let groups: Vec<PullGroup> = grouped.groups.iter().filter_map(group).collect();
    if groups.is_empty() {
        return None;
    }
    // `world/nodes/runtime/request.rs`: seven requests, three new connections of two round trips, and for each blob two
    // more round trips; the time of an answer is that of the API host.
    let of_layer = if knowledge == Knowledge::Layers {
        2.0 * settings.rtt + settings.service
    } else {
        0.0
    };
    let requests = RequestTimes {
        of_pull: 13.0 * settings.rtt + 6.0 * settings.service,
        of_layer,
    };
    let chosen = choose(&groups, requests, knowledge)?;
    Some(report(&groups, &grouped, &chosen, knowledge, source))
}

fn group((key, pulls): (&PulledLayers, &Vec<(f64, String)>)) -> Option<PullGroup> {
    let durations: Vec<f64> = pulls.iter().map(|(duration, _)| *duration).collect();
    let median = stats::median(&durations).filter(|median| *median > 0.0)?;
    let layers = key
        .1
        .iter()
        .map(|(compressed, uncompressed)| (*compressed as f64, *uncompressed as f64))
        .collect();
    Some(PullGroup {
        image: key.0.clone(),
        layers,
        durations,
        median,
    })
}

/// The pulls that can be used, with the layers that their nodes lacked. `by_size`: the layers are not known.
fn grouped(starts: &[ContainerStart], settings: &RateSettings<'_>, by_size: bool) -> Grouped {
    let mut grouped = Grouped::default();
    // Unpacked chains and blobs of each node.
    let mut nodes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for start in starts.iter().filter(|start| start.is_pull()) {
        let missing: Vec<LayerBytes> = if by_size {
            let Some(size) = start.size else { continue };
            vec![(size as f64, 0.0)]
        } else {
            let Some(layers) = settings.images.layers(&start.image, start.size) else {
                continue;
            };
            grouped.are_sizes_assumed |= layers.iter().any(|layer| layer.uncompressed.is_none());
            missing(
                &layers,
                nodes.entry(&start.node).or_default(),
                settings.compression_ratio,
            )
        };
        let Some(seconds) = start
            .pull_s
            .filter(|_| start.unused.is_none() && !missing.is_empty())
        else {
            continue;
        };
        let key = missing
            .iter()
            .map(|(compressed, uncompressed)| (*compressed as u64, *uncompressed as u64))
            .collect();
        grouped
            .groups
            .entry((start.image.clone(), key))
            .or_default()
            .push((seconds, start.node.clone()));
    }
    grouped
}

/// The layers that a node lacks, which has them afterwards: all above the first chain that is not unpacked there. A
/// blob that the node has is not downloaded again.
fn missing(layers: &[KnownLayer], node: &mut BTreeSet<String>, ratio: f64) -> Vec<LayerBytes> {
    let mut chain = String::new();
    let mut is_missing = false;
    let mut lacking = Vec::new();
    for layer in layers {
        let on_disk = layer.uncompressed.unwrap_or(layer.compressed * ratio);
        let Some(digest) = &layer.digest else {
            lacking.push((layer.compressed, on_disk));
            continue;
        };
        chain = format!("{chain} {digest}");
        let has_blob = !node.insert(format!("blob {digest}"));
        is_missing |= node.insert(format!("chain{chain}"));
        if is_missing {
            lacking.push((if has_blob { 0.0 } else { layer.compressed }, on_disk));
        }
    }
    lacking
}

fn report(
    groups: &[PullGroup],
    grouped: &Grouped,
    chosen: &Chosen,
    knowledge: Knowledge,
    source: &str,
) -> FittedRates {
    let pulls = groups
        .iter()
        .map(|group| group.durations.len() as u64)
        .sum();
    let nodes: BTreeSet<&str> = grouped
        .groups
        .values()
        .flatten()
        .map(|(_, node)| node.as_str())
        .collect();
    let mut rows: Vec<(ImageRow, Vec<LayerBytes>)> = groups
        .iter()
        .map(|group| (image_row(group, chosen), group.layers.clone()))
        .collect();
    rows.sort_by(|(a, _), (b, _)| a.pull_s_median.total_cmp(&b.pull_s_median));
    let (images, layers): (Vec<ImageRow>, Vec<Vec<LayerBytes>>) = rows.into_iter().unzip();
    let errors: Vec<f64> = images
        .iter()
        .map(|row| (row.fitted_s / row.pull_s_median - 1.0).abs())
        .collect();
    let spread = node_spread(grouped);
    let parameters = parameters(chosen, knowledge, grouped.are_sizes_assumed, spread);
    let record = RatesRecord {
        pulls,
        nodes: nodes.len() as u64,
        formula: chosen.formula(knowledge).to_owned(),
        median_error: stats::median(&errors).unwrap_or_default(),
        parameters,
        images,
        ..RatesRecord::default()
    };
    let mut values: Vec<CalibratedValue> = record
        .parameters
        .iter()
        .filter_map(|parameter| value_of(parameter, pulls, source))
        .collect();
    values.extend(held(chosen, knowledge, pulls, source));
    if chosen.disk().is_none() && !values.is_empty() {
        let value = "{class: none}".to_owned();
        values.push(of_pulls(
            "node.disk",
            "disk",
            value,
            "the rates above include it",
            (pulls, source),
        ));
    }
    if record.median_error > MOST_ERROR || is_streamed(chosen) {
        // Values of a model that does not describe the pulls are reported, and not pasted.
        for value in &mut values {
            value.setting.clear();
        }
    }
    let model = PullModel {
        constant_s: chosen.solution.at[CONSTANT],
        per_layer_s: chosen.solution.at[PER_LAYER],
        unpack_rate: rate(chosen.solution.at[UNPACK]),
        download_rate: rate(chosen.solution.at[DOWNLOAD]),
        disk: chosen.disk(),
        spread,
    };
    let mut warnings = warnings(groups, &record, knowledge);
    if is_streamed(chosen) {
        warnings.push(
            "rates: the pulls move bytes faster than any disk writes them, so the images are streamed (lazy pulling), and \
             their rates are not pasted; describe the streaming with `distribution.lazy`"
                .to_owned(),
        );
    }
    FittedRates {
        record,
        values,
        warnings,
        model,
        layers,
    }
}

/// Returns true if bytes move faster than any disk writes them. Most of them were not there when the pull ended.
fn is_streamed(chosen: &Chosen) -> bool {
    let rates = [UNPACK, DOWNLOAD]
        .map(|index| rate(chosen.solution.at[index]).filter(|_| chosen.free[index]));
    rates.into_iter().flatten().any(|rate| rate > FASTEST_DISK)
}

/// Values that the pulls do not determine. They are part of the fitted model and are pasted with the rest, because the
/// model's own defaults would come on top.
fn held(chosen: &Chosen, knowledge: Knowledge, pulls: u64, source: &str) -> Vec<CalibratedValue> {
    let note = "these images do not determine it; the value that the fit used";
    let value = |setting: &str, quantity: &str, value: String| {
        of_pulls(setting, quantity, value, note, (pulls, source))
    };
    let at = &chosen.solution.at;
    let mut held = Vec::new();
    if !chosen.free[CONSTANT] {
        held.push(value(
            "node.pullConstant",
            "constant of a pull",
            in_words(at[CONSTANT]),
        ));
    }
    if !chosen.free[PER_LAYER] {
        held.push(value(
            "node.unpackPerLayer",
            "part of each layer",
            in_words(at[PER_LAYER]),
        ));
    }
    match knowledge {
        Knowledge::Layers if !chosen.free[DOWNLOAD] => {
            held.push(value(
                "registry.perConnection",
                "download rate",
                "unlimited".to_owned(),
            ));
        }
        Knowledge::Layers => {}
        Knowledge::Sizes => held.push(value(
            "node.unpackRate",
            "unpack rate",
            UNPACKED_ALREADY.to_owned(),
        )),
    }
    held
}

fn warnings(groups: &[PullGroup], record: &RatesRecord, knowledge: Knowledge) -> Vec<String> {
    let mut warnings = Vec::new();
    if knowledge == Knowledge::Sizes {
        warnings.push(
            "rates: no image's layers are known, so download and unpacking have one rate together; add \
             `--image IMAGE=manifest.json`, or `--image-name` for names that state them (see docs/calibrate.md)"
                .to_owned(),
        );
    }
    if groups.len() < 5 {
        let images = counted(groups.len(), "image");
        warnings.push(format!(
            "rates: they rest on {images}; parameters that these do not determine keep the model's defaults"
        ));
    }
    if record.median_error > MOST_ERROR {
        warnings.push(format!(
            "rates: the pull model does not describe these pulls, so it is not pasted; its median error is {:.0}%",
            record.median_error * 100.0
        ));
    }
    warnings
}

fn image_row(group: &PullGroup, chosen: &Chosen) -> ImageRow {
    let sorted = stats::sorted(&group.durations);
    let (fitted_s, _) = duration(
        &chosen.solution.at,
        &group.layers,
        chosen.requests,
        chosen.knee,
    );
    ImageRow {
        image: group.image.clone(),
        layers: group.layers.len() as u64,
        compressed_bytes: group
            .layers
            .iter()
            .map(|(compressed, _)| *compressed as u64)
            .sum(),
        uncompressed_bytes: group
            .layers
            .iter()
            .map(|(_, uncompressed)| *uncompressed as u64)
            .sum(),
        pulls: sorted.len() as u64,
        pull_s_min: sorted[0],
        pull_s_median: group.median,
        pull_s_max: sorted[sorted.len() - 1],
        fitted_s,
    }
}

/// Standard deviation over nodes of the logarithm of a node's pulls relative to the medians of their images. `None`
/// with fewer than three nodes that have three such pulls each.
fn node_spread(grouped: &Grouped) -> Option<f64> {
    let mut nodes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for pulls in grouped.groups.values().filter(|pulls| pulls.len() >= 3) {
        let durations: Vec<f64> = pulls.iter().map(|(duration, _)| *duration).collect();
        let median = stats::median(&durations)?;
        for (duration, node) in pulls {
            nodes
                .entry(node)
                .or_default()
                .push(libm::log(duration / median));
        }
    }
    let of_nodes: Vec<f64> = nodes
        .values()
        .filter(|logs| logs.len() >= 3)
        .filter_map(|logs| stats::median(logs))
        .collect();
    (of_nodes.len() >= 3)
        .then(|| stats::sample_sd(&of_nodes))
        .flatten()
}

/// Bytes per second of seconds per byte.
fn rate(seconds_per_byte: f64) -> Option<f64> {
    (seconds_per_byte > 0.0).then(|| 1.0 / seconds_per_byte)
}

fn parameters(
    chosen: &Chosen,
    knowledge: Knowledge,
    assumed: bool,
    spread: Option<f64>,
) -> Vec<RateParameter> {
    let solution = &chosen.solution;
    let parameter =
        |name: &str, unit: &str, value: Option<f64>, setting: &str, note: &str| RateParameter {
            name: name.to_owned(),
            unit: unit.to_owned(),
            value,
            setting: setting.to_owned(),
            note: note.to_owned(),
            ..RateParameter::default()
        };
    let time = |index: usize, name: &str, setting: &str, note: &str| {
        let value = chosen.free[index].then_some(solution.at[index]);
        let (low, high) = solution.intervals[index].unzip();
        RateParameter {
            low,
            high,
            ..parameter(name, "s", value, setting, note)
        }
    };
    // Fitted as seconds per byte, so the ends change places.
    let speed = |index: usize, name: &str, setting: &str, note: &str| {
        let RateParameter {
            value, low, high, ..
        } = time(index, name, setting, note);
        let [value, high, low] = [value, low, high].map(|seconds| seconds.and_then(rate));
        RateParameter {
            unit: "bytes/s".to_owned(),
            value,
            low,
            high,
            ..time(index, name, setting, note)
        }
    };
    if knowledge == Knowledge::Sizes {
        return vec![
            time(
                CONSTANT,
                "constant of a pull",
                "node.pullConstant",
                "with its requests",
            ),
            speed(
                DOWNLOAD,
                "rate of a pull",
                "registry.perConnection",
                "compressed bytes, with unpacking",
            ),
        ];
    }
    let kept = "these images do not tell; the default is kept";
    let of_requests = if chosen.requests == RequestTimes::default() {
        "with its requests (see `--rtt`)"
    } else {
        "without its requests"
    };
    let constant_note = if chosen.free[CONSTANT] {
        of_requests
    } else {
        kept
    };
    let layer_note = if chosen.free[PER_LAYER] { "" } else { kept };
    let unpack_note = if assumed {
        "of bytes on disk, which are assumed"
    } else {
        "of bytes on disk"
    };
    let download_note = if chosen.free[DOWNLOAD] {
        "of one connection"
    } else {
        "these pulls do not tell"
    };
    let mut all = vec![
        time(
            CONSTANT,
            "constant of a pull",
            "node.pullConstant",
            constant_note,
        ),
        time(
            PER_LAYER,
            "part of each layer",
            "node.unpackPerLayer",
            layer_note,
        ),
        speed(UNPACK, "unpack rate", "node.unpackRate", unpack_note),
        speed(
            DOWNLOAD,
            "download rate",
            "registry.perConnection",
            download_note,
        ),
    ];
    if let Some((disk, buffer)) = chosen.disk() {
        let note = format!("memory in front of it takes {:.1} GB", buffer / 1e9);
        all.push(parameter(
            "disk behind the memory",
            "bytes/s",
            Some(disk),
            "node.disk",
            &note,
        ));
    }
    if spread.is_some() {
        all.push(parameter(
            "spread between nodes",
            "",
            spread,
            "node.unpackSpread",
            "sigma of a lognormal factor",
        ));
    }
    all
}

/// A value to paste. `None` for a parameter that is not determined.
fn value_of(parameter: &RateParameter, pulls: u64, source: &str) -> Option<CalibratedValue> {
    let value = parameter.value?;
    let written = |value: f64| match parameter.unit.as_str() {
        "s" => in_words(value),
        "bytes/s" => format!("{} MB/s", significant(value / 1e6, 4)),
        _ => significant(value, 3),
    };
    let text = match parameter.setting.as_str() {
        "node.disk" => {
            let buffer: String = parameter
                .note
                .chars()
                .filter(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            format!("{{rate: {}, buffer: {buffer} GB}}", written(value))
        }
        _ => written(value),
    };
    Some(CalibratedValue {
        low: parameter.low.map(written).unwrap_or_default(),
        high: parameter.high.map(written).unwrap_or_default(),
        ..of_pulls(
            &parameter.setting,
            &parameter.name,
            text,
            &parameter.note,
            (pulls, source),
        )
    })
}

/// A value that so many pulls of a source give.
pub(super) fn of_pulls(
    setting: &str,
    quantity: &str,
    value: String,
    note: &str,
    (count, source): (u64, &str),
) -> CalibratedValue {
    CalibratedValue {
        setting: setting.to_owned(),
        quantity: quantity.to_owned(),
        value,
        count,
        source: format!("pulls in {source}"),
        note: note.to_owned(),
        ..CalibratedValue::default()
    }
}
