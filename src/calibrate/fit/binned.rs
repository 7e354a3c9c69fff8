//! Fits of quantities of which only bins or quantiles are known, as monitoring systems keep them.
//!
//! Bins: the likelihood of the counts, maximised by the downhill simplex (Nelder, Mead, The Computer Journal 7, 1965)
//! over the logarithms of the parameters. The distance is Kolmogorov and Smirnov's at the bounds of the bins, the
//! p-value that of a parametric bootstrap of at most 1,000 values. Quantiles: least squares of the logarithms of
//! quantiles, no p-value.

use super::family::{Family, FittedLaw};
use super::{law_curve, parameters, verdict};
use crate::engine::{EntityKey, Streams};
use crate::results::FitRecord;

/// Most values of a resample.
const MOST_RESAMPLED: f64 = 1_000.0;
/// Resamples; each takes a search.
const RESAMPLES: u32 = 59;

/// Counts of values between bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::calibrate) struct Bins {
    /// Upper bounds, ascending; the last may be infinite.
    pub(in crate::calibrate) bounds: Vec<f64>,
    /// Values in each bin.
    pub(in crate::calibrate) counts: Vec<f64>,
}

impl Bins {
    pub(in crate::calibrate) fn total(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Share of values up to each bound.
    pub(in crate::calibrate) fn shares(&self) -> Vec<(f64, f64)> {
        let total = self.total();
        let mut sum = 0.0;
        let mut share = |(bound, count): (&f64, &f64)| {
            sum += count;
            (*bound, sum / total)
        };
        self.bounds.iter().zip(&self.counts).map(&mut share).filter(|(bound, _)| bound.is_finite()).collect()
    }

    /// The value below which this share of values lies, spread evenly inside of a bin; the last finite bound beyond it.
    pub(in crate::calibrate) fn quantile(&self, p: f64) -> f64 {
        let (mut low, mut before) = (0.0, 0.0);
        for (bound, share) in self.shares() {
            if share >= p && share > before {
                return low + (bound - low) * (p - before) / (share - before);
            }
            (low, before) = (bound, share);
        }
        low
    }

    fn ks(&self, law: &FittedLaw) -> f64 {
        let gaps = self.shares().into_iter().map(|(bound, share)| (law.tails(bound).0 - share).abs());
        gaps.fold(0.0, f64::max)
    }

    /// The most likely distribution of a family.
    fn fit(&self, family: Family) -> Option<FittedLaw> {
        let start = self.quantile(0.5);
        if start <= 0.0 {
            return None;
        }
        let minus_log_likelihood = |law: &FittedLaw| {
            let (mut low, mut sum) = ((0.0, 1.0), 0.0);
            for (bound, count) in self.bounds.iter().zip(&self.counts) {
                let high = if bound.is_finite() { law.tails(*bound) } else { (1.0, 0.0) };
                // The smaller tails have the digits.
                let inside = if low.0 < 0.5 { high.0 - low.0 } else { low.1 - high.1 };
                if *count > 0.0 {
                    sum -= count * libm::log(inside.max(1e-300));
                }
                low = high;
            }
            sum
        };
        search(family, start, minus_log_likelihood)
    }

    /// Counts of draws of a law.
    fn drawn(&self, law: &FittedLaw, count: usize, seed: u64, nth: u32) -> Self {
        let streams = Streams::new(seed, 0);
        let mut rng = streams.stream_nth(EntityKey::of(law.family.name()), "calibration bins", u64::from(nth));
        let mut counts = vec![0.0; self.bounds.len()];
        for _ in 0..count {
            let value = law.draw(&mut rng);
            let bin = self.bounds.partition_point(|bound| *bound < value).min(counts.len() - 1);
            counts[bin] += 1.0;
        }
        Self { bounds: self.bounds.clone(), counts }
    }

    /// All families, the closest first.
    pub(in crate::calibrate) fn fits(&self, seed: u64) -> Vec<FitRecord> {
        let last = self.bounds.iter().copied().filter(|bound| bound.is_finite()).fold(0.0, f64::max);
        let low = self.quantile(0.01).max(last / 1e4);
        let mut fits: Vec<FitRecord> = Family::ALL
            .into_iter()
            .filter_map(|family| {
                let law = self.fit(family)?;
                let found = self.ks(&law);
                let count = self.total().min(MOST_RESAMPLED).round().max(1.0) as usize;
                // A part of the values has larger distances than all of them, so it is fitted and measured itself.
                let part = if self.total() > MOST_RESAMPLED { self.part(count, seed) } else { self.clone() };
                let of_part = part.fit(family)?;
                let measured = part.ks(&of_part);
                let further = (0..RESAMPLES).filter(|nth| {
                    let drawn = part.drawn(&of_part, count, seed, *nth);
                    drawn.fit(family).is_some_and(|refitted| drawn.ks(&refitted) >= measured)
                });
                let p = (further.count() + 1) as f64 / f64::from(RESAMPLES + 1);
                Some(record(&law, found, Some(p), low, last))
            })
            .collect();
        fits.sort_by(|a, b| a.ks.total_cmp(&b.ks));
        fits
    }

    /// So many of the values, drawn without replacement: a smaller sample of the same population.
    fn part(&self, count: usize, seed: u64) -> Self {
        let mut rng = Streams::new(seed, 0).stream("bins", "calibration part");
        let mut left = self.counts.clone();
        let mut counts = vec![0.0; self.counts.len()];
        for _ in 0..count {
            let mut at = crate::engine::dist::unit(&mut rng) * left.iter().sum::<f64>();
            let bin = left.iter().position(|inside| {
                at -= inside;
                at < 0.0
            });
            let bin = bin.unwrap_or(self.counts.len() - 1);
            counts[bin] += 1.0;
            left[bin] = (left[bin] - 1.0).max(0.0);
        }
        Self { bounds: self.bounds.clone(), counts }
    }
}

/// Fits to quantiles: shares with their values. The closest first.
pub(in crate::calibrate) fn fits_of_quantiles(quantiles: &[(f64, f64)]) -> Vec<FitRecord> {
    let Some((_, start)) = quantiles.iter().min_by(|a, b| (a.0 - 0.5).abs().total_cmp(&(b.0 - 0.5).abs())) else {
        return Vec::new();
    };
    let low = quantiles.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    let high = quantiles.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let mut fits: Vec<FitRecord> = Family::ALL
        .into_iter()
        .filter_map(|family| {
            let squares = |law: &FittedLaw| {
                let error = |(p, value): &(f64, f64)| libm::log(law.quantile(*p).max(1e-300) / value);
                quantiles.iter().map(|point| error(point) * error(point)).sum()
            };
            let law = search(family, *start, squares)?;
            let ks = quantiles.iter().map(|(p, value)| (law.tails(*value).0 - p).abs()).fold(0.0, f64::max);
            Some(record(&law, ks, None, low / 2.0, high * 1.5))
        })
        .collect();
    fits.sort_by(|a, b| a.ks.total_cmp(&b.ks));
    fits
}

fn record(law: &FittedLaw, ks: f64, p: Option<f64>, low: f64, high: f64) -> FitRecord {
    FitRecord {
        distribution: law.family.name().to_owned(),
        parameters: parameters(law, None, None),
        ks,
        ks_p: p,
        ad: None,
        ad_p: None,
        verdict: verdict(p, ks).to_owned(),
        expression: super::expression(law),
        curve: law_curve(law, low, high),
    }
}

/// The law of a family with the least cost, by the downhill simplex over the logarithms of its parameters.
fn search(family: Family, start: f64, cost: impl Fn(&FittedLaw) -> f64) -> Option<FittedLaw> {
    let has_shape = family.parameters().1.is_some();
    let law = |at: [f64; 2]| FittedLaw {
        family,
        size: libm::exp(at[0]),
        shape: if has_shape { libm::exp(at[1].clamp(-6.0, 6.0)) } else { 1.0 },
    };
    let of = |at: [f64; 2]| {
        let cost = cost(&law(at));
        if cost.is_finite() { cost } else { f64::MAX }
    };
    let first = [libm::log(start), 0.0];
    let mut points = vec![(of(first), first)];
    for at in [[first[0] + 0.5, 0.0], [first[0], if has_shape { 0.5 } else { 0.0 }]] {
        points.push((of(at), at));
    }
    if !has_shape {
        points.pop();
    }
    let mix = |a: [f64; 2], b: [f64; 2], share: f64| [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])];
    for _ in 0..300 {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let worst = points.len() - 1;
        let spread = (points[worst].1[0] - points[0].1[0]).abs() + (points[worst].1[1] - points[0].1[1]).abs();
        if spread < 1e-7 {
            break;
        }
        let others = worst as f64;
        let centre =
            points[..worst].iter().fold([0.0; 2], |sum, (_, at)| [sum[0] + at[0] / others, sum[1] + at[1] / others]);
        let mirrored = mix(points[worst].1, centre, 2.0);
        let reached = of(mirrored);
        if reached < points[0].0 {
            let further = mix(points[worst].1, centre, 3.0);
            let beyond = of(further);
            points[worst] = if beyond < reached { (beyond, further) } else { (reached, mirrored) };
        } else if reached < points[worst - 1].0 {
            points[worst] = (reached, mirrored);
        } else {
            let nearer = mix(points[worst].1, centre, if reached < points[worst].0 { 1.5 } else { 0.5 });
            let inside = of(nearer);
            if inside < points[worst].0.min(reached) {
                points[worst] = (inside, nearer);
            } else {
                let best = points[0].1;
                for point in &mut points[1..] {
                    point.1 = mix(best, point.1, 0.5);
                    point.0 = of(point.1);
                }
            }
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (cost, at) = points[0];
    (cost < f64::MAX).then(|| law(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(family: Family, size: f64, shape: f64) -> FittedLaw {
        FittedLaw { family, size, shape }
    }

    #[test]
    fn parameters_of_binned_values_are_recovered() {
        let bounds = vec![0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, f64::INFINITY];
        for truth in [law(Family::Lognormal, 4.0, 0.8), law(Family::Weibull, 5.0, 1.5), law(Family::Gamma, 6.0, 3.0)] {
            let empty = Bins { counts: vec![0.0; bounds.len()], bounds: bounds.clone() };
            let bins = empty.drawn(&truth, 2_000, 3, 0);
            let found = bins.fit(truth.family).expect("a fit");
            // The standard errors of 2,000 unbinned values are 2 to 3%; bins lose a little. Bound: 10%.
            assert!((found.size / truth.size - 1.0).abs() < 0.1, "{found:?}, not {truth:?}");
            assert!((found.shape / truth.shape - 1.0).abs() < 0.1, "{found:?}, not {truth:?}");
            let fits = bins.fits(1);
            let own = fits.iter().find(|fit| fit.distribution == truth.family.name()).expect("fitted");
            // A p-value refuses a true family in 5% of samples, but its distance stays small.
            assert!(own.verdict != "does not fit" && own.ks < 0.02, "{}: {} {:?}", own.distribution, own.ks, own.ks_p);
        }
    }

    #[test]
    fn parameters_of_quantiles_are_recovered() {
        let truth = law(Family::Lognormal, 2.0, 0.5);
        let quantiles: Vec<(f64, f64)> = [0.5, 0.9, 0.99].map(|p| (p, truth.quantile(p))).to_vec();
        let best = &fits_of_quantiles(&quantiles)[0];
        assert_eq!(best.distribution, "lognormal");
        assert!((best.parameters[0].value - 2.0).abs() < 0.02 && (best.parameters[1].value - 0.5).abs() < 0.01);
    }

    #[test]
    fn quantiles_of_bins_are_spread_evenly_inside_of_a_bin() {
        let bins = Bins { bounds: vec![1.0, 2.0, f64::INFINITY], counts: vec![50.0, 30.0, 20.0] };
        assert!((bins.quantile(0.25) - 0.5).abs() < 1e-12 && (bins.quantile(0.65) - 1.5).abs() < 1e-12);
        assert!((bins.quantile(0.99) - 2.0).abs() < 1e-12, "nothing is known beyond the last bound");
    }
}
