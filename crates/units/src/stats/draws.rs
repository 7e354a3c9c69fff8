//! Random draws for tests of statistics, from a fixed seed.

use super::bootstrap::Indices;

/// Random draws.
#[derive(Debug)]
pub struct Draws {
    indices: Indices,
}

impl Draws {
    /// Creates draws from a seed; equal seeds give equal draws.
    pub fn new(seed: u64) -> Self {
        Self {
            indices: Indices::new(seed),
        }
    }

    /// Draws a number between 0 and 1, both excluded.
    pub fn unit(&mut self) -> f64 {
        (self.indices.below(1 << 52) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Draws a normal number with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * libm::log(self.unit())).sqrt() * libm::cos(std::f64::consts::TAU * self.unit())
    }
}
