//! Random draws of constants, for studies in which their values are uncertain.

use crate::engine::{EntityKey, Streams, dist};

/// Returns a number from 0 to 1 for each constant in one replicate. Each constant has its own random stream: its draws
/// do not depend on other constants, and the random numbers of simulated worlds do not change.
#[must_use]
pub fn draw_shares(names: &[&str], seed: u64, replicate: u32) -> Vec<f64> {
    let streams = Streams::new(seed, replicate);
    let mut shares = Vec::with_capacity(names.len());
    for name in names {
        let mut stream = streams.stream(EntityKey::of(name), "constant");
        shares.push(dist::unit(&mut stream));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_only_on_the_constant_and_the_replicate() {
        let both = draw_shares(&["a", "b"], 1, 0);
        assert_eq!(
            draw_shares(&["b"], 1, 0)[0].to_bits(),
            both[1].to_bits(),
            "another constant changes nothing"
        );
        assert_ne!(draw_shares(&["a"], 1, 1)[0].to_bits(), both[0].to_bits());
        let all: Vec<f64> = (0..1_000)
            .map(|replicate| draw_shares(&["a"], 1, replicate)[0])
            .collect();
        let mean = all.iter().sum::<f64>() / 1_000.0;
        // The standard error is 0.0091.
        assert!((mean - 0.5).abs() < 0.04, "{mean}");
    }
}
