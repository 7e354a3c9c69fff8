//! Standard normal and standard exponential draws of `rand_distr`, with tails that are identical on every platform.
//!
//! `rand_distr` draws both by the ziggurat method: nearly all draws are products of table entries. It computes the
//! tails (one normal draw in 3,900, one exponential draw in 2,200) with the platform's `ln`, whose last bit differs
//! between platforms. Here a draw from a tail is recomputed with `libm`, from the same random numbers. The comparisons
//! in `rand_distr` still use the platform's `exp` and `ln`: results differ only if both sides agree to 16 digits,
//! which has no effect on a study.

use std::convert::Infallible;

use rand::{Rng, RngExt, TryRng};
use rand_distr::{Exp1, StandardNormal};

/// Start of the tail of the normal distribution, for 256 layers. Source: Doornik, "An improved ziggurat method to
/// generate normal random samples", 2005.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;

/// Start of the tail of the exponential distribution, for 256 layers. Source: Marsaglia and Tsang, "The ziggurat
/// method for generating random variables", Journal of Statistical Software 5(8), 2000.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;

/// Draws a normal number with mean 0 and standard deviation 1.
pub(super) fn standard_normal<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    let mut rng = Recent { rng, last: [0; 2] };
    let drawn: f64 = rng.sample(StandardNormal);
    if drawn.abs() <= NORMAL_TAIL {
        return drawn;
    }
    // Marsaglia's method: the distance into the tail is the negative logarithm of the second-to-last number, which is
    // not 0.
    let share = (rng.last[0] >> 12) as f64 / (1_u64 << 52) as f64 + f64::EPSILON / 2.0;
    (NORMAL_TAIL - libm::log(share) / NORMAL_TAIL).copysign(drawn)
}

/// Draws an exponential number with mean 1.
pub(super) fn standard_exponential<R: Rng + ?Sized>(rng: &mut R) -> f64 {
    let mut rng = Recent { rng, last: [0; 2] };
    let drawn: f64 = rng.sample(Exp1);
    if drawn <= EXPONENTIAL_TAIL {
        return drawn;
    }
    let share = (rng.last[1] >> 11) as f64 / (1_u64 << 53) as f64;
    // Avoid 0, whose logarithm is infinite.
    EXPONENTIAL_TAIL - libm::log(share.max(f64::EPSILON / 2.0))
}

/// A random stream that remembers its last two numbers, oldest first.
struct Recent<'r, R: ?Sized> {
    rng: &'r mut R,
    last: [u64; 2],
}

impl<R: Rng + ?Sized> TryRng for Recent<'_, R> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.rng.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let number = self.rng.next_u64();
        self.last = [self.last[1], number];
        Ok(number)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.rng.fill_bytes(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn draws_equal_those_of_rand_distr_except_for_the_last_bits_in_the_tails() {
        type Draw = fn(&mut Xoshiro256PlusPlus) -> f64;
        let cases: [(&str, Draw, Draw, f64); 2] = [
            (
                "normal",
                standard_normal,
                |rng| rng.sample(StandardNormal),
                NORMAL_TAIL,
            ),
            (
                "exponential",
                standard_exponential,
                |rng| rng.sample(Exp1),
                EXPONENTIAL_TAIL,
            ),
        ];
        for (name, own, other, tail) in cases {
            let mut stream = Xoshiro256PlusPlus::seed_from_u64(7);
            let mut same = stream.clone();
            let mut tails = 0;
            for draw in 0..400_000 {
                let (found, expected) = (own(&mut stream), other(&mut same));
                let tolerance = if expected.abs() > tail { 1e-14 } else { 0.0 };
                assert!(
                    (found - expected).abs() <= tolerance,
                    "{name} draw {draw}: {found} instead of {expected}"
                );
                tails += u32::from(found.abs() > tail);
            }
            assert!(tails > 50, "tails are compared, too: {tails} of {name}");
        }
    }
}
