//! The line `load`: concurrent pulls, the busiest minute of the registry's link, and refused requests.

use super::alike::are_alike;
use super::room::{RegistryLink, busiest_minute};
use super::sites;
use super::times::times_instead;
use crate::report::data::VariantResults;
use crate::report::format::{RateUnit, count, in_unit, time};
use crate::results::Measure;

/// Minimum number of refusals that are mentioned for an alternative.
const FEW: f64 = 10.0;
/// Minimum time at capacity, in seconds, that is mentioned.
const FULL_S: f64 = 1.0;
/// Most refusals that are named for an alternative.
const MOST_REFUSALS: usize = 2;

/// The parts of the line that depend on the verdict above it.
#[derive(Clone, Copy, Default)]
pub(super) struct LoadContext<'a, 'r> {
    /// True if the verdict says that the link has room.
    pub(super) is_room_asked: bool,
    /// True if the verdict says how much the registry sends.
    pub(super) says_sent: bool,
    /// The variant that the verdict compares with.
    pub(super) reference: Option<&'a VariantResults<'r>>,
}

/// `543 pulls at once; busiest minute 6.8 of 10 Gbit/s; link full for 4 min; 5,305 answers 429`. `None`: nothing is
/// pulled.
pub(super) fn line(variant: &VariantResults<'_>, context: LoadContext<'_, '_>) -> Option<String> {
    let peak = variant.median(Measure::PeakPulls)?;
    if peak <= 0.0 {
        return None;
    }
    let mut parts = vec![format!("{} at once", in_unit(peak, "pulls"))];
    parts.extend(link(variant));
    parts.extend(match context.reference {
        Some(reference) => full_instead(variant, reference),
        None => full(variant),
    });
    if let Some(link) = RegistryLink::of(variant)
        && context.is_room_asked
    {
        parts.push(link.certainty(variant));
    }
    parts.extend(sites::parts(variant, context.says_sent));
    parts.extend(match context.reference {
        Some(reference) => refused_instead(variant, reference),
        None => refused(variant),
    });
    Some(parts.join("; "))
}

/// `busiest minute 6.8 of 10 Gbit/s`. `None`: the link is unlimited.
fn link(variant: &VariantResults<'_>) -> Option<String> {
    let RegistryLink { bytes_per_s } = RegistryLink::of(variant)?;
    let minute = busiest_minute(variant).filter(|minute| *minute > 0.0)?;
    let unit = RateUnit::for_max(bytes_per_s);
    let number = unit.text(minute);
    let number = number.split(' ').next().unwrap_or_default();
    let other = variant.median(Measure::OtherEgressBytes).unwrap_or(0.0);
    let with_other = if other > 0.0 { " with other load" } else { "" };
    Some(format!(
        "busiest minute {number} of {}{with_other}",
        unit.text(bytes_per_s)
    ))
}

/// `link full for 4 min`. `None`: it is hardly ever full.
pub(super) fn full(variant: &VariantResults<'_>) -> Option<String> {
    let full = variant.median(Measure::EgressBusy)?;
    (full >= FULL_S).then(|| format!("link full for {}", time(full)))
}

/// `link full for 2.7 instead of 27.9 min`. `None`: both are hardly ever full.
fn full_instead(variant: &VariantResults<'_>, reference: &VariantResults<'_>) -> Option<String> {
    let now = variant.median(Measure::EgressBusy)?;
    let before = reference.median(Measure::EgressBusy)?;
    if before < FULL_S || are_alike(now, before) {
        return full(variant);
    }
    Some(format!("link full for {}", times_instead(now, before)))
}

/// `5,305 answers 429, 40 failed pulls`. `None`: no request is refused and no pull fails.
fn refused(variant: &VariantResults<'_>) -> Option<String> {
    let parts = refusals(variant);
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The same; if nothing is refused, unlike before, what is saved.
fn refused_instead(variant: &VariantResults<'_>, reference: &VariantResults<'_>) -> Option<String> {
    let before = refused(reference);
    match (refused(variant), before) {
        (None, Some(before)) => Some(format!("nothing refused, instead of {before}")),
        (now, _) => now,
    }
}

/// The first of these numbers, for an alternative. `None`: hardly a request is refused, and no pull fails.
pub(super) fn refused_in_short(variant: &VariantResults<'_>) -> Option<String> {
    let refused = variant.median(Measure::Responses429)? + variant.median(Measure::Responses503)?;
    let failed = variant.median(Measure::FailedPulls)?;
    if refused < FEW && failed < FEW {
        return None;
    }
    let mut parts = refusals(variant);
    parts.truncate(MOST_REFUSALS);
    Some(parts.join(", "))
}

/// The numbers of refused requests and of failed pulls.
fn refusals(variant: &VariantResults<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    for (measure, one, several) in [
        (Measure::Responses429, "answer 429", "answers 429"),
        (Measure::Responses503, "answer 503", "answers 503"),
        (
            Measure::RequestTimeouts,
            "request timed out",
            "requests timed out",
        ),
        (Measure::FailedPulls, "failed pull", "failed pulls"),
    ] {
        let number = variant.median(measure).unwrap_or(0.0);
        if number > 0.0 {
            let words = if number > 1.0 { several } else { one };
            parts.push(format!("{} {words}", count(number)));
        }
    }
    parts
}
