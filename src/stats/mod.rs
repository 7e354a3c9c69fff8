//! Stand-in until the statistics are merged.
#![allow(missing_docs)]

pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let at = p * (sorted.len() - 1) as f64;
    let low = at.floor() as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
pub fn standard_deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}
pub fn median_interval(sorted: &[f64], _level: f64, resamples: usize, seed: u64) -> (f64, f64) {
    let mut state = seed;
    let mut medians: Vec<f64> = (0..resamples)
        .map(|_| {
            let mut sample: Vec<f64> = (0..sorted.len())
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    sorted[(state >> 33) as usize % sorted.len()]
                })
                .collect();
            sample.sort_by(f64::total_cmp);
            quantile(&sample, 0.5)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    (quantile(&medians, 0.025), quantile(&medians, 0.975))
}
pub fn mean_interval(values: &[f64], _level: f64) -> (f64, f64) {
    let half = 12.706 * standard_deviation(values) / (values.len() as f64).sqrt();
    (mean(values) - half, mean(values) + half)
}
