//! Fits the rates of image pulls to the durations of pulls of images with known layers.
//!
//! | file | contents |
//! |---|---|
//! | `pipeline` | the model's duration of a pull |
//! | `least_squares` | the fit of its parameters to measured durations |
//! | `choice` | the parameters that the images determine |
//! | `assumed` | the world around the parameters |
//!
//! Which parameters can be fitted depends on the images. A further parameter (the download rate, or a disk that is
//! slower than its memory buffer) is accepted only if it explains the durations much better (Schwarz' criterion). A
//! parameter that the images do not determine is reported as such.

mod assumed;
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
use crate::world::{DiskSpec, WorldSpec};
pub(in crate::calibrate) use assumed::{AssumedWorld, Downloads};
pub(in crate::calibrate) use choice::DiskChoice;
use choice::{Chosen, FittedDisk, Knowledge, choose};
use least_squares::{PullGroup, TimedPull};
pub(in crate::calibrate) use pipeline::LayerBytes;
use pipeline::{CONSTANT, DOWNLOAD, PER_LAYER, RequestTimes, UNPACK, critical_path};

/// Median error above which the model is considered not to describe the pulls.
pub(super) const MOST_ERROR: f64 = 0.25;

/// A rate in bytes per second that no disk of a node reaches. Source: four lanes of PCI Express 5.0 carry 15.8 GB/s
/// (32 GT/s each, 128 of 130 bits).
const FASTEST_DISK: f64 = 20e9;
/// The unpack rate to paste if one rate covers download and unpacking.
const UNPACKED_ALREADY: &str = "1000 GB/s";

/// Settings of the fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSettings<'s> {
    pub(super) images: &'s KnownImages,
    /// Ratio of uncompressed to compressed bytes, for images whose uncompressed size is unknown.
    pub(super) compression_ratio: f64,
    /// Round trip to the registry.
    pub(super) rtt: SimDuration,
    /// The registry's time for one request.
    pub(super) service: SimDuration,
    pub(super) disk: DiskChoice,
    /// Number of times that nodes are resampled for an interval.
    pub(super) resamples: u32,
    pub(super) seed: u64,
}

impl RateSettings<'_> {
    /// Returns the world that the fit assumes.
    fn assumed(&self, knowledge: Knowledge) -> AssumedWorld {
        AssumedWorld {
            rtt: self.rtt,
            service: self.service,
            downloads: match knowledge {
                Knowledge::Layers => Downloads::InSlots,
                Knowledge::Sizes => Downloads::OneByOne,
            },
        }
    }
}

/// The fitted pull model, in seconds and bytes per second. `None`: the parameter is not determined and is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PullModel {
    pub(super) constant_s: f64,
    pub(super) per_layer_s: f64,
    pub(super) unpack_rate: Option<f64>,
    pub(super) download_rate: Option<f64>,
    pub(super) disk: Option<FittedDisk>,
    /// Sigma of the rate across nodes.
    pub(super) spread: Option<f64>,
    pub(super) assumed: AssumedWorld,
}

impl PullModel {
    /// Replaces settings with their fitted values, and with those that the fit assumes.
    pub(super) fn apply(&self, world: &mut WorldSpec) {
        self.assumed.apply(world);
        let node = &mut world.node;
        node.pull_constant = SimDuration::from_secs_f64(self.constant_s).into();
        node.unpack_per_layer = SimDuration::from_secs_f64(self.per_layer_s).into();
        if let Some(rate) = self.unpack_rate {
            node.unpack_rate = BytesPerSec::new(rate).into();
        }
        if let Some(spread) = self.spread {
            node.unpack_spread = spread.min(2.0);
        }
        node.disk = self.disk.map(|FittedDisk { rate, buffer }| DiskSpec {
            rate: BytesPerSec::new(rate).into(),
            buffer: Bytes::new(buffer.max(0.0) as u64),
            ..DiskSpec::default()
        });
        if let Some(rate) = self.download_rate {
            world.registry.per_connection = Some(BytesPerSec::new(rate));
        }
    }

    /// Returns the duration of a pull of these layers.
    #[cfg(test)]
    pub(super) fn seconds(&self, layers: &[LayerBytes]) -> f64 {
        let at = [
            self.constant_s,
            self.per_layer_s,
            self.unpack_rate.map_or(0.0, f64::recip),
            self.download_rate.map_or(0.0, f64::recip),
            0.0,
        ];
        critical_path(&at, layers, RequestTimes::default(), None).length
    }
}

/// Fitted rates, and everything to report about them.
#[derive(Clone, Debug)]
pub(super) struct FittedRates {
    pub(super) record: RatesRecord,
    pub(super) values: Vec<CalibratedValue>,
    pub(super) warnings: Vec<String>,
    pub(super) model: PullModel,
    /// The missing layers of each image in the record.
    pub(super) layers: Vec<Vec<LayerBytes>>,
}

/// An image, and the layers that a node lacked.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct PulledLayers {
    image: String,
    layers: Vec<WholeBytes>,
}

/// The sizes of a layer in whole bytes, rounded down.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct WholeBytes {
    compressed: u64,
    uncompressed: u64,
}

/// Pulls grouped by image and missing layers.
#[derive(Debug, Default)]
struct GroupedPulls {
    groups: BTreeMap<PulledLayers, Vec<TimedPull>>,
    are_sizes_assumed: bool,
}

/// Fits the rates. `None`: no pulled image has known layers or a known size.
pub(super) fn fit(
    starts: &[ContainerStart],
    settings: &RateSettings<'_>,
    source: &str,
) -> Option<FittedRates> {
    let mut pulls = GroupedPulls::by_layers(starts, settings);
    let mut knowledge = Knowledge::Layers;
    if pulls.groups.is_empty() {
        pulls = GroupedPulls::by_size(starts);
        knowledge = Knowledge::Sizes;
    }
    let groups = pulls.fitted_groups();
    if groups.is_empty() {
        return None;
    }
    let assumed = settings.assumed(knowledge);
    let mut chosen = choose(&groups, assumed.requests(), knowledge, settings.disk)?;
    chosen.widen(&groups, settings.resamples, settings.seed);
    let report = RatesReport {
        chosen,
        groups: &groups,
        pulls: &pulls,
        knowledge,
        assumed,
        compression_ratio: settings.compression_ratio,
        source,
    };
    Some(report.fitted())
}

impl GroupedPulls {
    /// Groups the pulls of images with known layers, by the layers that their nodes lacked.
    fn by_layers(starts: &[ContainerStart], settings: &RateSettings<'_>) -> Self {
        let mut pulls = Self::default();
        // The unpacked chains and the blobs on each node.
        let mut nodes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for start in starts.iter().filter(|start| start.is_pull()) {
            let Some(layers) = settings.images.layers(&start.image, start.size) else {
                continue;
            };
            pulls.are_sizes_assumed |= layers.iter().any(|layer| layer.uncompressed.is_none());
            let node = nodes.entry(&start.node).or_default();
            pulls.add(start, &missing(&layers, node, settings.compression_ratio));
        }
        pulls
    }

    /// Groups the pulls of images with known sizes. Each image counts as one layer that needs no unpacking.
    fn by_size(starts: &[ContainerStart]) -> Self {
        let mut pulls = Self::default();
        for start in starts.iter().filter(|start| start.is_pull()) {
            if let Some(size) = start.size {
                pulls.add(start, &[LayerBytes::new(size as f64, 0.0)]);
            }
        }
        pulls
    }

    /// Adds a pull of missing layers if its duration can be used.
    fn add(&mut self, start: &ContainerStart, missing: &[LayerBytes]) {
        let Some(seconds) = start.pull_s else { return };
        if start.unused.is_some() || missing.is_empty() {
            return;
        }
        let mut layers = Vec::with_capacity(missing.len());
        for layer in missing {
            layers.push(WholeBytes {
                compressed: layer.compressed as u64,
                uncompressed: layer.uncompressed as u64,
            });
        }
        let image = start.image.clone();
        let group = self.groups.entry(PulledLayers { image, layers });
        group.or_default().push(TimedPull {
            seconds,
            node: start.node.clone(),
        });
    }

    /// Returns the groups to fit: those with a median above 0.
    fn fitted_groups(&self) -> Vec<PullGroup> {
        let mut groups = Vec::new();
        for (key, pulls) in &self.groups {
            let mut layers = Vec::with_capacity(key.layers.len());
            for layer in &key.layers {
                let compressed = layer.compressed as f64;
                layers.push(LayerBytes::new(compressed, layer.uncompressed as f64));
            }
            groups.extend(PullGroup::of(key.image.clone(), layers, pulls.clone()));
        }
        groups
    }

    fn nodes(&self) -> usize {
        let pulls = self.groups.values().flatten();
        pulls.map(|pull| &pull.node).collect::<BTreeSet<_>>().len()
    }

    /// Returns the standard deviation, over nodes, of the logarithm of a node's pull durations relative to the medians
    /// of their images. `None`: fewer than three nodes have three such pulls each.
    fn node_spread(&self) -> Option<f64> {
        let mut nodes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for pulls in self.groups.values().filter(|pulls| pulls.len() >= 3) {
            let durations: Vec<f64> = pulls.iter().map(|pull| pull.seconds).collect();
            let median = stats::median(&durations)?;
            for pull in pulls {
                let log = libm::log(pull.seconds / median);
                nodes.entry(&pull.node).or_default().push(log);
            }
        }
        let mut of_nodes = Vec::new();
        for logs in nodes.values().filter(|logs| logs.len() >= 3) {
            of_nodes.extend(stats::median(logs));
        }
        if of_nodes.len() < 3 {
            return None;
        }
        stats::sample_sd(&of_nodes)
    }
}

/// Returns the layers that a node still has to unpack, and adds them to the node: the first layer whose chain is not
/// unpacked there, and all layers above it. Blobs that the node has are not downloaded again.
fn missing(layers: &[KnownLayer], node: &mut BTreeSet<String>, ratio: f64) -> Vec<LayerBytes> {
    let mut chain = String::new();
    let mut is_missing = false;
    let mut lacking = Vec::new();
    for layer in layers {
        let on_disk = layer.uncompressed.unwrap_or(layer.compressed * ratio);
        let Some(digest) = &layer.digest else {
            lacking.push(LayerBytes::new(layer.compressed, on_disk));
            continue;
        };
        chain = format!("{chain} {digest}");
        let has_blob = !node.insert(format!("blob {digest}"));
        is_missing |= node.insert(format!("chain{chain}"));
        if is_missing {
            let to_download = if has_blob { 0.0 } else { layer.compressed };
            lacking.push(LayerBytes::new(to_download, on_disk));
        }
    }
    lacking
}

/// A fit and its data, for the report.
struct RatesReport<'r> {
    chosen: Chosen,
    groups: &'r [PullGroup],
    pulls: &'r GroupedPulls,
    knowledge: Knowledge,
    assumed: AssumedWorld,
    /// Ratio of uncompressed to compressed bytes, for images whose uncompressed size is unknown.
    compression_ratio: f64,
    /// The files with the pulls.
    source: &'r str,
}

impl RatesReport<'_> {
    fn fitted(&self) -> FittedRates {
        let at = &self.chosen.solution.at;
        let is_streamed = is_streamed(&self.chosen);
        let groups = self.groups_by_median();
        let record = self.record(&groups);
        let mut values = self.values(&record);
        if record.median_error > MOST_ERROR || is_streamed {
            // The values of a model that does not describe the pulls are reported but not pasted.
            for value in &mut values {
                value.setting.clear();
            }
        }
        let model = PullModel {
            constant_s: at[CONSTANT],
            per_layer_s: at[PER_LAYER],
            unpack_rate: rate(at[UNPACK]),
            download_rate: rate(at[DOWNLOAD]),
            disk: self.chosen.disk(),
            spread: self.pulls.node_spread(),
            assumed: self.assumed,
        };
        let mut warnings = warnings(self.groups, &record, self.knowledge);
        if is_streamed {
            warnings.push(
                "rates: the pulls move bytes faster than any disk writes them, so the images are streamed (lazy pulling), \
                 and their rates are not pasted; describe the streaming with `distribution.lazy`"
                    .to_owned(),
            );
        }
        FittedRates {
            record,
            values,
            warnings,
            model,
            layers: groups
                .into_iter()
                .map(|group| group.layers.clone())
                .collect(),
        }
    }

    /// Returns the groups in ascending order of their median.
    fn groups_by_median(&self) -> Vec<&PullGroup> {
        let mut groups: Vec<&PullGroup> = self.groups.iter().collect();
        groups.sort_by(|a, b| a.median.total_cmp(&b.median));
        groups
    }

    fn pull_count(&self) -> u64 {
        let counts = self.groups.iter().map(|group| group.pulls.len());
        counts.sum::<usize>() as u64
    }

    fn record(&self, groups: &[&PullGroup]) -> RatesRecord {
        let mut images = Vec::with_capacity(groups.len());
        let mut errors = Vec::with_capacity(groups.len());
        for group in groups {
            let row = image_row(group, &self.chosen);
            errors.push((row.fitted_s / row.pull_s_median - 1.0).abs());
            images.push(row);
        }
        RatesRecord {
            pulls: self.pull_count(),
            nodes: self.pulls.nodes() as u64,
            formula: self.chosen.formula(self.knowledge).to_owned(),
            median_error: stats::median(&errors).unwrap_or_default(),
            parameters: self.parameters(),
            images,
            ..RatesRecord::default()
        }
    }

    /// Returns the values to paste.
    fn values(&self, record: &RatesRecord) -> Vec<CalibratedValue> {
        let mut values = Vec::new();
        for parameter in &record.parameters {
            values.extend(self.value_of(parameter));
        }
        values.extend(self.held());
        if !values.is_empty() {
            values.extend(self.assumed_values());
        }
        values
    }

    /// Returns the facts that the fit assumes, to paste next to its parameters.
    fn assumed_values(&self) -> Vec<CalibratedValue> {
        let mut values = Vec::new();
        if self.chosen.disk().is_none() {
            values.push(assumed::DISK.value());
        }
        if self.pulls.node_spread().is_none() {
            values.push(assumed::SPREAD.value());
        }
        if rate(self.chosen.solution.at[DOWNLOAD]).is_none() {
            values.push(assumed::EGRESS.value());
        }
        values.extend(self.assumed.values());
        if self.pulls.are_sizes_assumed {
            values.push(assumed::ratio(self.compression_ratio));
        }
        values
    }
}

/// Returns true if bytes move faster than any disk can write them. If so, most of them had not reached the disk when
/// the pull ended.
fn is_streamed(chosen: &Chosen) -> bool {
    for index in [UNPACK, DOWNLOAD] {
        let rate = rate(chosen.solution.at[index]);
        if chosen.free[index] && rate.is_some_and(|rate| rate > FASTEST_DISK) {
            return true;
        }
    }
    false
}

impl RatesReport<'_> {
    /// Returns values that the pulls do not determine but that the fitted model assumes. They are pasted with the
    /// others, because the model's defaults would otherwise be added.
    fn held(&self) -> Vec<CalibratedValue> {
        let Chosen { solution, free, .. } = &self.chosen;
        let mut held = Vec::new();
        if !free[CONSTANT] {
            let value = in_words(solution.at[CONSTANT]);
            held.push(self.held_value("node.pullConstant", "constant of a pull", value));
        }
        if !free[PER_LAYER] {
            let value = in_words(solution.at[PER_LAYER]);
            held.push(self.held_value("node.unpackPerLayer", "part of each layer", value));
        }
        match self.knowledge {
            Knowledge::Layers if !free[DOWNLOAD] => {
                let value = "unlimited".to_owned();
                held.push(self.held_value("registry.perConnection", "download rate", value));
            }
            Knowledge::Layers => {}
            Knowledge::Sizes => {
                let value = UNPACKED_ALREADY.to_owned();
                held.push(self.held_value("node.unpackRate", "unpack rate", value));
            }
        }
        held
    }

    fn held_value(&self, setting: &str, quantity: &str, value: String) -> CalibratedValue {
        CalibratedValue {
            value,
            note: "not determined by these images; the value that the fit used".to_owned(),
            ..of_pulls(setting, quantity, self.pull_count(), self.source)
        }
    }
}

fn warnings(groups: &[PullGroup], record: &RatesRecord, knowledge: Knowledge) -> Vec<String> {
    let mut warnings = Vec::new();
    if record.nodes == 1 {
        warnings.push(
            "rates: all pulls are from one node, so the intervals say nothing about other nodes"
                .to_owned(),
        );
    }
    if knowledge == Knowledge::Sizes {
        warnings.push(
            "rates: no image's layers are known, so download and unpacking share one rate; add \
             `--image IMAGE=manifest.json`, or `--image-name` for names that state them (see docs/calibrate.md)"
                .to_owned(),
        );
    }
    if groups.len() < 5 {
        let images = counted(groups.len(), "image");
        warnings.push(format!(
            "rates: they are based on {images}; parameters that these do not determine keep the model's defaults"
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
    let sorted = stats::sorted(&group.durations());
    let path = critical_path(
        &chosen.solution.at,
        &group.layers,
        chosen.requests,
        chosen.knee,
    );
    let mut compressed_bytes = 0;
    let mut uncompressed_bytes = 0;
    for layer in &group.layers {
        compressed_bytes += layer.compressed as u64;
        uncompressed_bytes += layer.uncompressed as u64;
    }
    ImageRow {
        image: group.image.clone(),
        layers: group.layers.len() as u64,
        compressed_bytes,
        uncompressed_bytes,
        pulls: sorted.len() as u64,
        pull_s_min: sorted[0],
        pull_s_median: group.median,
        pull_s_max: sorted[sorted.len() - 1],
        fitted_s: path.length,
    }
}

/// Converts seconds per byte to bytes per second.
fn rate(seconds_per_byte: f64) -> Option<f64> {
    (seconds_per_byte > 0.0).then(|| 1.0 / seconds_per_byte)
}

impl RatesReport<'_> {
    fn parameters(&self) -> Vec<RateParameter> {
        match self.knowledge {
            Knowledge::Sizes => vec![
                self.time(CONSTANT).named(
                    "constant of a pull",
                    "node.pullConstant",
                    "with its requests",
                ),
                self.speed(DOWNLOAD).named(
                    "rate of a pull",
                    "registry.perConnection",
                    "compressed bytes, with unpacking",
                ),
            ],
            Knowledge::Layers => self.parameters_of_layers(),
        }
    }

    fn parameters_of_layers(&self) -> Vec<RateParameter> {
        let Chosen { free, requests, .. } = &self.chosen;
        let untold = "not determined by these images; the default is kept";
        let constant_note = if !free[CONSTANT] {
            untold
        } else if *requests == RequestTimes::default() {
            "with its requests (see `--rtt`)"
        } else {
            "without its requests"
        };
        let layer_note = if free[PER_LAYER] { "" } else { untold };
        let unpack_note = if self.pulls.are_sizes_assumed {
            "of bytes on disk, which are assumed"
        } else {
            "of bytes on disk"
        };
        let download_note = if free[DOWNLOAD] {
            "of one connection"
        } else {
            "these pulls do not determine it"
        };
        let mut parameters = vec![
            self.time(CONSTANT)
                .named("constant of a pull", "node.pullConstant", constant_note),
            self.time(PER_LAYER)
                .named("part of each layer", "node.unpackPerLayer", layer_note),
            self.speed(UNPACK)
                .named("unpack rate", "node.unpackRate", unpack_note),
            self.speed(DOWNLOAD)
                .named("download rate", "registry.perConnection", download_note),
        ];
        if let Some(FittedDisk { rate, buffer }) = self.chosen.disk() {
            let note = format!("memory in front of it holds {:.1} GB", buffer / 1e9);
            let disk = FittedValue::without_interval("bytes/s", rate);
            parameters.push(disk.named("disk behind the memory", "node.disk", &note));
        }
        if let Some(spread) = self.pulls.node_spread() {
            let spread = FittedValue::without_interval("", spread);
            let note = "sigma of a lognormal factor";
            parameters.push(spread.named("spread between nodes", "node.unpackSpread", note));
        }
        parameters
    }

    /// Returns a fitted parameter in seconds.
    fn time(&self, index: usize) -> FittedValue {
        let solution = &self.chosen.solution;
        let interval = solution.intervals[index];
        FittedValue {
            unit: "s",
            value: self.chosen.free[index].then_some(solution.at[index]),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        }
    }

    /// Returns a fitted parameter in bytes per second. It is fitted in seconds per byte, so the ends of its interval
    /// are swapped.
    fn speed(&self, index: usize) -> FittedValue {
        let FittedValue {
            value, low, high, ..
        } = self.time(index);
        FittedValue {
            unit: "bytes/s",
            value: value.and_then(rate),
            low: high.and_then(rate),
            high: low.and_then(rate),
        }
    }

    /// Returns a value to paste. `None`: the parameter is not determined.
    fn value_of(&self, parameter: &RateParameter) -> Option<CalibratedValue> {
        let written = |value| written(value, &parameter.unit);
        let mut value = written(parameter.value?);
        if let Some(FittedDisk { buffer, .. }) = self.chosen.disk()
            && parameter.setting == "node.disk"
        {
            let megabytes = significant(buffer / 1e6, 4);
            value = format!("{{rate: {value}, buffer: {megabytes} MB}}");
        }
        Some(CalibratedValue {
            value,
            low: parameter.low.map(written).unwrap_or_default(),
            high: parameter.high.map(written).unwrap_or_default(),
            note: parameter.note.clone(),
            ..of_pulls(
                &parameter.setting,
                &parameter.name,
                self.pull_count(),
                self.source,
            )
        })
    }
}

/// A fitted parameter. `None`: the parameter is not determined, or has no interval.
struct FittedValue {
    unit: &'static str,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl FittedValue {
    const fn without_interval(unit: &'static str, value: f64) -> Self {
        Self {
            unit,
            value: Some(value),
            low: None,
            high: None,
        }
    }

    fn named(self, name: &str, setting: &str, note: &str) -> RateParameter {
        RateParameter {
            name: name.to_owned(),
            unit: self.unit.to_owned(),
            value: self.value,
            low: self.low,
            high: self.high,
            setting: setting.to_owned(),
            note: note.to_owned(),
        }
    }
}

/// Formats a parameter's value as in the experiment file.
fn written(value: f64, unit: &str) -> String {
    match unit {
        "s" => in_words(value),
        "bytes/s" => format!("{} MB/s", significant(value / 1e6, 4)),
        _ => significant(value, 3),
    }
}

/// Returns a calibrated value, estimated from `count` pulls in `source`.
pub(super) fn of_pulls(setting: &str, quantity: &str, count: u64, source: &str) -> CalibratedValue {
    CalibratedValue {
        setting: setting.to_owned(),
        quantity: quantity.to_owned(),
        count,
        source: format!("pulls in {source}"),
        ..CalibratedValue::default()
    }
}
