//! The line `load`: concurrent pulls, the busiest minute of the registry's link, and refused requests.

use super::room::{RegistryLink, busiest_minute};
use super::sites;
use crate::report::data::VariantResults;
use crate::report::format::{RateUnit, count, in_unit, time};
use crate::results::Measure;

/// Minimum number of refusals that are mentioned for an alternative.
const FEW: f64 = 10.0;
/// Minimum time at capacity, in seconds, that is mentioned.
const FULL_S: f64 = 1.0;

/// `543 pulls at once; busiest minute 6.8 of 10 Gbit/s; link full for 4 min; 5,305 answers 429`. `None`: nothing is
/// pulled.
pub(super) fn line(variant: &VariantResults<'_>, is_room_asked: bool) -> Option<String> {
    let peak = variant.median(Measure::PeakPulls)?;
    if peak <= 0.0 {
        return None;
    }
    let mut parts = vec![format!("{} at once", in_unit(peak, "pulls"))];
    parts.extend(link(variant));
    parts.extend(full(variant));
    if let Some(link) = RegistryLink::of(variant)
        && is_room_asked
    {
        parts.push(link.certainty(variant));
    }
    parts.extend(sites::parts(variant));
    parts.extend(refused(variant));
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

/// `5,305 answers 429, 40 failed pulls`. `None`: no request is refused and no pull fails.
fn refused(variant: &VariantResults<'_>) -> Option<String> {
    let parts = refusals(variant);
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The first of these numbers. `None`: almost no request is refused, and no pull fails.
pub(super) fn refused_in_short(variant: &VariantResults<'_>) -> Option<String> {
    let refused = variant.median(Measure::Responses429)? + variant.median(Measure::Responses503)?;
    let failed = variant.median(Measure::FailedPulls)?;
    if refused < FEW && failed < FEW {
        return None;
    }
    refusals(variant).into_iter().next()
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
