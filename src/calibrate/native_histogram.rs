//! Native histograms of Prometheus: exponential buckets of which only those with observations are written.
//!
//! A response has `histograms` in place of `values`: times with a count, a sum and buckets, each with its rule of
//! inclusion, its lower and upper bound and its count (prometheus/docs/querying/api.md, "Native histograms"). They
//! become the cumulative buckets of a classic histogram. A histogram that grows halves its resolution, so bounds that
//! lie inside of a bucket of another sample are left out. Which ends of a bucket are included is not distinguished.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A native histogram at one time.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct NativeHistogram {
    count: String,
    #[serde(default)]
    buckets: Vec<(i64, String, String, String)>,
}

/// A bucket: its bounds and its count.
type Bucket = (f64, f64, f64);

/// Bounds below this are of the bucket around zero.
const NO_TIME_S: f64 = 1e-9;

impl NativeHistogram {
    /// All observations; `None` when it is no number.
    pub(super) fn observations(&self) -> Option<f64> {
        self.count.parse().ok().filter(|count: &f64| count.is_finite())
    }

    /// Its buckets; `None` when one of them has no numbers.
    fn read(&self) -> Option<Vec<Bucket>> {
        let number = |text: &String| text.parse::<f64>().ok().filter(|number| !number.is_nan());
        let bucket = |(_, low, high, count): &(i64, String, String, String)| {
            let bucket = (number(low)?, number(high)?, number(count)?);
            (bucket.0 <= bucket.1 && bucket.2.is_finite()).then_some(bucket)
        };
        self.buckets.iter().map(bucket).collect()
    }
}

/// The observations up to each bound, over all these samples of one series. `is_counter`: only what was added between
/// neighbouring samples counts. `None` when a bucket has no numbers.
pub(super) fn cumulative(samples: &[NativeHistogram], is_counter: bool) -> Option<Vec<(f64, f64)>> {
    let samples: Vec<(f64, Vec<Bucket>)> =
        samples.iter().map(|sample| Some((sample.observations()?, sample.read()?))).collect::<Option<_>>()?;
    let bounds = common_bounds(samples.iter().flat_map(|(_, buckets)| buckets));
    let mut before: Option<Vec<f64>> = None;
    let mut sums = vec![0.0; bounds.len()];
    for (count, buckets) in &samples {
        let now = up_to(&bounds, buckets, *count);
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum += match &before {
                _ if !is_counter => now[at],
                None => 0.0,
                // After a restart, a counter begins again at 0.
                Some(before) if now[at] < before[at] => now[at],
                Some(before) => now[at] - before[at],
            };
        }
        before = Some(now);
    }
    Some(bounds.into_iter().zip(sums).collect())
}

/// The positive bounds that lie inside of no bucket, ascending; the last is infinite.
fn common_bounds<'b>(buckets: impl Iterator<Item = &'b Bucket>) -> Vec<f64> {
    let mut all: Vec<(f64, f64)> = buckets.map(|(low, high, _)| (*low, *high)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all.dedup();
    let mut bounds: Vec<f64> = all.iter().flat_map(|(low, high)| [*low, *high]).collect();
    bounds.retain(|bound| *bound > NO_TIME_S && bound.is_finite());
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    let (mut next, mut reach) = (0, f64::NEG_INFINITY);
    bounds.retain(|bound| {
        while let Some((_, high)) = all.get(next).filter(|(low, _)| low < bound) {
            reach = reach.max(*high);
            next += 1;
        }
        reach <= *bound
    });
    bounds.push(f64::INFINITY);
    bounds
}

/// The observations of one sample up to each bound.
fn up_to(bounds: &[f64], buckets: &[Bucket], count: f64) -> Vec<f64> {
    let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
    for (_, high, count) in buckets {
        *counts.entry(bounds.partition_point(|bound| bound < high)).or_default() += count;
    }
    let mut sum = 0.0;
    let last = bounds.len() - 1;
    let up_to = |at: usize| {
        sum += counts.get(&at).copied().unwrap_or_default();
        if at == last { count.max(sum) } else { sum }
    };
    (0..bounds.len()).map(up_to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(count: f64, buckets: &[(f64, f64, f64)]) -> NativeHistogram {
        let bucket = |(low, high, count): &Bucket| (0, low.to_string(), high.to_string(), count.to_string());
        NativeHistogram { count: count.to_string(), buckets: buckets.iter().map(bucket).collect() }
    }

    #[test]
    fn buckets_become_the_observations_up_to_each_bound() {
        let first = sample(10.0, &[(1.0, 2.0, 6.0), (2.0, 4.0, 4.0)]);
        let second = sample(31.0, &[(-1e-39, 1e-39, 1.0), (1.0, 2.0, 20.0), (4.0, 8.0, 10.0)]);
        // A counter: 20 + 1 - 6 up to 2 s; 21 - 10 up to 4 s; 31 - 10 up to 8 s.
        let expected = [(1.0, 1.0), (2.0, 15.0), (4.0, 11.0), (8.0, 21.0), (f64::INFINITY, 21.0)];
        let samples = [first, second];
        assert_eq!(cumulative(&samples, true).as_deref(), Some(&expected[..]));
        let sums = [(1.0, 1.0), (2.0, 27.0), (4.0, 31.0), (8.0, 41.0), (f64::INFINITY, 41.0)];
        assert_eq!(cumulative(&samples, false).as_deref(), Some(&sums[..]), "each sample has its own observations");
    }

    #[test]
    fn bounds_inside_of_a_wider_bucket_are_left_out() {
        let fine = sample(5.0, &[(1.0, 2.0, 2.0), (2.0, 4.0, 3.0)]);
        let coarse = sample(9.0, &[(1.0, 4.0, 9.0)]);
        let expected = [(1.0, 0.0), (4.0, 4.0), (f64::INFINITY, 4.0)];
        assert_eq!(cumulative(&[fine, coarse], true).as_deref(), Some(&expected[..]));
    }

    #[test]
    fn what_has_no_numbers_is_refused() {
        let bad = NativeHistogram { count: "1".into(), buckets: vec![(0, "1".into(), "x".into(), "1".into())] };
        assert_eq!(cumulative(&[bad], true), None);
        assert_eq!(cumulative(&[sample(f64::NAN, &[])], true), None);
        assert_eq!(cumulative(&[sample(1.0, &[(2.0, 1.0, 1.0)])], true), None, "bounds run backwards");
    }
}
