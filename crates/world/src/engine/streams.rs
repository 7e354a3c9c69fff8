//! Named random streams: every entity has its own stream for each purpose.
//!
//! A stream depends only on (seed, replicate, entity, purpose, attempt), not on the order or number of streams. An
//! entity therefore gets the same random numbers in every variant of a comparison, and a model that draws more numbers
//! does not change the draws of others. The compared setting must not be part of the key.
//!
//! The derivation never changes (tests pin its bytes): names are hashed with 64-bit FNV-1a, the parts are chained
//! with the finaliser of SplitMix64, and SplitMix64 expands the result to the 32 bytes that seed xoshiro256++.
//! Sources: Fowler, Noll, Vo (IETF draft-eastlake-fnv); Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014; Blackman, Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47 (2021).
//!
//! Two keys whose hashes differ in exactly one part always give different streams, since each step of the chain is a
//! bijection. Other keys collide by chance: among a million streams, with probability 3e-8.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// The generator behind a stream, whose draws are the same in every release and on every platform.
pub type Stream = Xoshiro256PlusPlus;

/// The hashed name of an entity; hot paths store it to avoid hashing text.
///
/// Keys are names, not indices, so an entity inserted at the front of a list does not change the draws of the others.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct EntityKey(u64);

impl EntityKey {
    /// Returns the key of the entity called `name`.
    #[must_use]
    pub const fn of(name: &str) -> Self {
        Self(fnv1a(name.as_bytes()))
    }

    /// Returns the key of part number `index` of this entity, such as one node of a cluster.
    #[must_use]
    pub const fn part(self, index: u64) -> Self {
        Self(chain(self.0, index))
    }

    /// Returns the key of this entity at `place`, such as a blob at an edge of a network.
    #[must_use]
    pub const fn at(self, place: Self) -> Self {
        self.part(place.0)
    }
}

impl From<&str> for EntityKey {
    fn from(name: &str) -> Self {
        Self::of(name)
    }
}

/// All streams of one run.
///
/// ```
/// use fleetsim_world::engine::{EntityKey, Streams, dist};
///
/// let streams = Streams::new(1, 0);
/// let key = EntityKey::of("store-0001");
/// let again = dist::unit(&mut streams.stream("store-0001", "offline"));
/// assert_eq!(dist::unit(&mut streams.stream(key, "offline")), again);
/// assert_ne!(dist::unit(&mut streams.stream(key, "start")), again);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Streams {
    root: u64,
}

impl Streams {
    /// Returns the streams of run number `replicate` of an experiment with this `seed`.
    #[must_use]
    pub const fn new(seed: u64, replicate: u32) -> Self {
        #[allow(clippy::cast_lossless, reason = "`u64::from` is not const")]
        let replicate = replicate as u64;
        Self {
            root: chain(chain(0, seed), replicate),
        }
    }

    /// Returns the streams that all runs of an experiment with this `seed` share.
    #[must_use]
    pub const fn of_study(seed: u64) -> Self {
        Self {
            root: chain(0, seed),
        }
    }

    /// Returns the streams of a part of a run, such as one of several applications, in which every entity and purpose
    /// has a stream other than in the whole.
    #[must_use]
    pub const fn of_part(&self, part: EntityKey) -> Self {
        Self {
            root: chain(self.root, part.0),
        }
    }

    /// Returns the stream of `entity` for `purpose`, positioned at its start.
    #[must_use]
    pub fn stream(&self, entity: impl Into<EntityKey>, purpose: &'static str) -> Stream {
        open(self.key(entity.into(), purpose))
    }

    /// Returns the stream of `entity` for its `attempt`-th `purpose`: the draws of the third pull do not depend on how
    /// many numbers the first two drew. For every `attempt`, the stream differs from [`Self::stream`].
    #[must_use]
    pub fn stream_nth(
        &self,
        entity: impl Into<EntityKey>,
        purpose: &'static str,
        attempt: u64,
    ) -> Stream {
        open(chain(self.key(entity.into(), purpose), attempt))
    }

    fn key(&self, entity: EntityKey, purpose: &str) -> u64 {
        chain(chain(self.root, entity.0), fnv1a(purpose.as_bytes()))
    }
}

/// The increment of SplitMix64: 2⁶⁴ divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes `part` into the key `state`. The result is a bijection of each argument.
const fn chain(state: u64, part: u64) -> u64 {
    finalise((state ^ part).wrapping_add(GOLDEN_GAMMA))
}

/// Applies the output function of SplitMix64.
const fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Hashes bytes with 64-bit FNV-1a.
const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        #[allow(clippy::cast_lossless, reason = "`u64::from` is not const")]
        let byte = bytes[i] as u64;
        hash = (hash ^ byte).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

/// Returns the 32 bytes that seed the stream with this key: four outputs of SplitMix64, little-endian.
fn seed_bytes(key: u64) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut state = key;
    for chunk in bytes.chunks_exact_mut(8) {
        state = state.wrapping_add(GOLDEN_GAMMA);
        chunk.copy_from_slice(&finalise(state).to_le_bytes());
    }
    bytes
}

fn open(key: u64) -> Stream {
    Stream::from_seed(seed_bytes(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use std::collections::BTreeSet;

    fn first(mut stream: Stream) -> u64 {
        stream.next_u64()
    }

    #[test]
    fn stream_names_are_hashed_as_published() {
        // Test vectors of draft-eastlake-fnv: 64-bit FNV-1a of "", "a" and "foobar".
        for (name, expected) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(EntityKey::of(name).0, expected, "{name:?}");
        }
    }

    #[test]
    fn seeding_is_splitmix64() {
        // The first outputs of splitmix64.c (Vigna) from state 1234567, as published with Rosetta Code's task.
        let bytes = seed_bytes(1_234_567);
        let outputs: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes")))
            .collect();
        assert_eq!(
            outputs,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431
            ]
        );
    }

    #[test]
    fn the_key_derivation_never_changes() {
        let streams = Streams::new(1, 2);
        let hex = |key| {
            seed_bytes(key)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let key = streams.key("store-0001".into(), "pull");
        assert_eq!(
            hex(key),
            "2dbb738f2c815329e6020e9bdd0f5efe1c4ae6cd2e913eeb14dfdf180fa76df2"
        );
        assert_eq!(
            hex(chain(key, 3)),
            "4eab1e5689e0118a4ae7cfa898ae751584f7ef2b99ff9755cfcfa86a4781f478"
        );
        assert_eq!(EntityKey::of("store-0001").part(7).0, 0x01df_c31e_aa38_9830);
        assert_eq!(
            first(streams.stream("store-0001", "pull")),
            0x4727_aaf9_b001_9bc1
        );
        assert_eq!(
            first(streams.stream_nth("store-0001", "pull", 3)),
            0x7272_4446_e4a0_2e7e
        );
    }

    #[test]
    fn each_part_of_the_key_changes_the_stream() {
        let base = Streams::new(1, 0);
        let streams = [
            ("the base", base.stream("store-0001", "pull")),
            ("seed", Streams::new(2, 0).stream("store-0001", "pull")),
            ("replicate", Streams::new(1, 1).stream("store-0001", "pull")),
            (
                "part of the run",
                base.of_part("shop".into()).stream("store-0001", "pull"),
            ),
            (
                "seed and replicate swapped",
                Streams::new(0, 1).stream("store-0001", "pull"),
            ),
            ("entity", base.stream("store-0002", "pull")),
            (
                "part of the entity",
                base.stream(EntityKey::of("store-0001").part(0), "pull"),
            ),
            ("purpose", base.stream("store-0001", "start")),
            (
                "entity and purpose swapped",
                base.stream("pull", "store-0001"),
            ),
            ("attempt 0", base.stream_nth("store-0001", "pull", 0)),
            ("attempt 1", base.stream_nth("store-0001", "pull", 1)),
        ];
        for (i, (name, stream)) in streams.iter().enumerate() {
            for (other_name, other) in &streams[..i] {
                assert_ne!(
                    first(stream.clone()),
                    first(other.clone()),
                    "{name} and {other_name}"
                );
            }
        }
    }

    #[test]
    fn a_reopened_stream_starts_from_its_beginning() {
        let streams = Streams::new(7, 3);
        let alone = first(streams.stream("store-0001", "pull"));
        let mut other = streams.stream("store-0001", "new purpose");
        for _ in 0..1000 {
            other.next_u64();
        }
        assert_eq!(first(streams.stream("store-0001", "pull")), alone);
    }

    #[test]
    fn neighbouring_keys_give_unrelated_draws() {
        let streams = Streams::new(1, 0);
        let fleet = EntityKey::of("fleet");
        let draws: Vec<u64> = (0..10_000)
            .map(|i| first(streams.stream(fleet.part(i), "pull")))
            .collect();
        assert_eq!(draws.iter().collect::<BTreeSet<_>>().len(), draws.len());
        // Each bit of the difference between neighbouring keys is set in about half of the cases: 5,000, with standard
        // error 50.
        for bit in 0..64 {
            let set = draws
                .windows(2)
                .filter(|pair| (pair[0] ^ pair[1]) >> bit & 1 == 1)
                .count();
            assert!(
                (4_750..=5_250).contains(&set),
                "bit {bit} differs in {set} of 9999 neighbours"
            );
        }
    }
}
