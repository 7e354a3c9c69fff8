//! The load of places other than the registry: mirrors, caches, the links of regions, and peers.
//!
//! `registries.csv` has a row for each of them in each run. The text names a place that is full, and counts the others
//! with the bytes that they send.

use itertools::Itertools;

use crate::report::data::VariantResults;
use crate::report::format::{in_unit, rate, time};
use crate::results::{LinkKind, RegistryRow};
use fleetsim_units::stats;

/// Minimum time at capacity, in seconds, that is mentioned.
const FULL_S: f64 = 1.0;

/// One place of a variant, with the medians over its runs.
struct LinkPlace<'r> {
    row: &'r RegistryRow,
    sent: f64,
    full_s: f64,
}

/// `registry sends 60 GB; 2 mirrors send 120 GB, ma is full for 8.0 min`, or which link of a region is full. Empty if
/// only the registry sends, and no link of a region is full. `says_sent`: the bytes of the registry are known already.
pub(super) fn parts(variant: &VariantResults<'_>, says_sent: bool) -> Vec<String> {
    let places = places(variant);
    let mut parts = Vec::new();
    for (kind, name) in [
        (LinkKind::Mirror, "mirror"),
        (LinkKind::Cache, "cache"),
        (LinkKind::Peers, "peer"),
    ] {
        let mut own: Vec<&LinkPlace<'_>> = places.iter().collect();
        own.retain(|place| place.row.kind == kind);
        parts.extend(senders(&own, name));
    }
    if !parts.is_empty() && !says_sent {
        let registries = places
            .iter()
            .filter(|place| place.row.kind == LinkKind::Registry);
        let sent: f64 = registries.map(|place| place.sent).sum();
        parts.insert(0, format!("registry sends {}", in_unit(sent, "bytes")));
    }
    let mut regions: Vec<&LinkPlace<'_>> = places.iter().collect();
    regions.retain(|place| place.row.kind == LinkKind::Region);
    parts.extend(fullest_region(&regions));
    parts
}

/// Describes how much the hosts of one kind send, and names the one whose link is full for the longest time.
fn senders(places: &[&LinkPlace<'_>], name: &str) -> Option<String> {
    let sent: f64 = places.iter().map(|place| place.sent).sum();
    if sent <= 0.0 {
        return None;
    }
    let who = match places {
        [only] if only.row.registry.ends_with('s') => format!("{name}s send"),
        [_] => format!("the {name} sends"),
        several => format!("{} {name}s send", several.len()),
    };
    let mut text = format!("{who} {}", in_unit(sent, "bytes"));
    if let Some(fullest) = fullest(places) {
        let full = time(fullest.full_s);
        text.push_str(&match places {
            [_] => format!(", full for {full}"),
            _ => format!(", {} is full for {full}", fullest.row.registry),
        });
    }
    Some(text)
}

/// `link of region lan (16 Mbit/s) full for 25 min`.
fn fullest_region(regions: &[&LinkPlace<'_>]) -> Option<String> {
    let fullest = fullest(regions)?;
    let capacity = fullest.row.capacity_bytes_per_s.map(rate);
    let capacity = capacity.map(|capacity| format!(" ({capacity})"));
    Some(format!(
        "link of region {}{} full for {}",
        fullest.row.registry,
        capacity.unwrap_or_default(),
        time(fullest.full_s)
    ))
}

/// The place that is full for the longest time. `None`: no place is full.
fn fullest<'p, 'r>(places: &[&'p LinkPlace<'r>]) -> Option<&'p LinkPlace<'r>> {
    let fullest = places
        .iter()
        .copied()
        .max_by(|a, b| a.full_s.total_cmp(&b.full_s))?;
    (fullest.full_s >= FULL_S).then_some(fullest)
}

/// The places of a variant, in the order of the table.
fn places<'r>(variant: &VariantResults<'r>) -> Vec<LinkPlace<'r>> {
    let mut names: Vec<(&str, LinkKind)> = Vec::new();
    for (_, row) in &variant.links {
        names.push((row.registry.as_str(), row.kind));
    }
    let mut places = Vec::new();
    for (name, kind) in names
        .into_iter()
        .unique_by(|(name, kind)| (*name, *kind as u8))
    {
        let mut sent: Vec<f64> = Vec::new();
        let mut full: Vec<f64> = Vec::new();
        let mut first: Option<&RegistryRow> = None;
        for &(replicate, row) in &variant.links {
            if row.registry != name || row.kind != kind {
                continue;
            }
            first = first.or(Some(row));
            sent.push(row.egress_bytes as f64);
            full.push(row.egress_busy_share.unwrap_or(0.0) * end_of(variant, replicate));
        }
        if let Some(row) = first {
            places.push(LinkPlace {
                row,
                sent: stats::median(&sent).unwrap_or(0.0),
                full_s: stats::median(&full).unwrap_or(0.0),
            });
        }
    }
    places
}

/// The end of a run.
fn end_of(variant: &VariantResults<'_>, replicate: u32) -> f64 {
    let mut runs = variant.runs.iter();
    let run = runs.find(|run| run.replicate == replicate);
    run.map_or(0.0, |run| run.end_s)
}
