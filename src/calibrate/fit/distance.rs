//! Distances of a sample from a distribution, and the probability of larger distances by chance.
//!
//! Kolmogorov and Smirnov's D is the largest difference between the two distribution functions. Anderson and Darling's
//! A² weights the squared difference by the inverse of its variance, so that the tails count (Stephens, "EDF
//! Statistics for Goodness of Fit", JASA 69, 1974).
//!
//! The tables of these statistics apply to distributions whose parameters are known in advance. Here the parameters
//! come from the sample, which makes distances smaller. The p-values therefore come from a parametric bootstrap, with
//! samples that are drawn from the fitted distribution and fitted again (Stute, Manteiga, Quindimil, Metrika 40,
//! 1993).

use super::family::FittedLaw;
use super::special::Tails;
use crate::engine::{EntityKey, Streams};

/// Maximum number of values in a resample. With more values, a p-value would take minutes and would be 0 for any real
/// sample.
pub(super) const MOST_RESAMPLED: usize = 2_000;

/// The Kolmogorov-Smirnov and Anderson-Darling distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Distances {
    pub(super) ks: f64,
    pub(super) ad: f64,
}

/// Returns the distances between the values, in ascending order, and a distribution.
pub(super) fn distances(law: &FittedLaw, sorted: &[f64]) -> Distances {
    let n = sorted.len() as f64;
    let tails: Vec<Tails> = sorted.iter().map(|value| law.tails(*value)).collect();
    let mut ks: f64 = 0.0;
    let mut sum = 0.0;
    for (at, Tails { below, .. }) in tails.iter().enumerate() {
        let before = at as f64 / n;
        let after = (at + 1) as f64 / n;
        ks = ks.max((below - before).abs()).max((after - below).abs());
        let above = tails[tails.len() - 1 - at].above;
        sum += (2 * at + 1) as f64 * (libm::log(below.max(1e-300)) + libm::log(above.max(1e-300)));
    }
    Distances {
        ks,
        ad: -n - sum / n,
    }
}

/// The results of a parametric bootstrap: the p-values, and the refitted parameters in the order of the resamples.
pub(super) struct Resampled {
    pub(super) ks_p: f64,
    pub(super) ad_p: f64,
    pub(super) sizes: Vec<f64>,
    pub(super) shapes: Vec<f64>,
}

/// Resamples a fitted distribution. `None`: no resample can be fitted. Only a part of a long sample is tested.
pub(super) fn resample(
    law: &FittedLaw,
    sorted: &[f64],
    resamples: u32,
    seed: u64,
) -> Option<Resampled> {
    let streams = Streams::new(seed, 0);
    let key = EntityKey::of(law.family.name());
    let tested = thinned(sorted, &streams, key);
    let law = if tested.len() < sorted.len() {
        law.family.fit(&tested)?
    } else {
        *law
    };
    let found = distances(&law, &tested);
    let mut larger_ks = 0;
    let mut larger_ad = 0;
    let mut sizes = Vec::new();
    let mut shapes = Vec::new();
    for nth in 0..resamples {
        let mut rng = streams.stream_nth(key, "calibration resample", u64::from(nth));
        let mut values: Vec<f64> = (0..tested.len()).map(|_| law.draw(&mut rng)).collect();
        values.sort_by(f64::total_cmp);
        let Some(refitted) = law.family.fit(&values) else {
            continue;
        };
        let drawn = distances(&refitted, &values);
        larger_ks += u32::from(drawn.ks >= found.ks);
        larger_ad += u32::from(drawn.ad >= found.ad);
        sizes.push(refitted.size);
        shapes.push(refitted.shape);
    }
    if sizes.is_empty() {
        return None;
    }
    Some(Resampled {
        ks_p: p_value(larger_ks, sizes.len()),
        ad_p: p_value(larger_ad, sizes.len()),
        sizes,
        shapes,
    })
}

/// Returns the p-value of a distance that is reached or exceeded in `larger` of the resamples.
fn p_value(larger: u32, resamples: usize) -> f64 {
    f64::from(larger + 1) / (resamples + 1) as f64
}

/// Returns at most [`MOST_RESAMPLED`] of the values, drawn without replacement.
fn thinned(sorted: &[f64], streams: &Streams, key: EntityKey) -> Vec<f64> {
    if sorted.len() <= MOST_RESAMPLED {
        return sorted.to_vec();
    }
    let mut rng = streams.stream(key, "calibration part");
    let mut wanted = MOST_RESAMPLED;
    let mut part = Vec::with_capacity(wanted);
    for (at, value) in sorted.iter().enumerate() {
        let left = sorted.len() - at;
        if crate::engine::dist::unit(&mut rng) * (left as f64) < wanted as f64 {
            part.push(*value);
            wanted -= 1;
        }
        if wanted == 0 {
            break;
        }
    }
    part
}
