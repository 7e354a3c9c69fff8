//! `releases` of an application: the time of its release.

#[cfg(test)]
use std::borrow::Cow;
use std::fmt;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::units::SimDuration;

/// The times of releases: a list, or one for each application of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum ReleaseTimes {
    /// The releases of each application. There is one for now.
    List(Vec<ReleaseAt>),
    /// One release of each application of a pattern, one after the other.
    Every(ReleasesEvery),
}

/// One release.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseAt {
    /// Time from the start to the release.
    at: SimDuration,
}

/// The releases of a pattern of applications, one after the other.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleasesEvery {
    /// Time between the releases of two applications. 0: all are released at once.
    every: SimDuration,
    /// Time from the start to the first release.
    #[serde(default)]
    from: SimDuration,
}

/// A problem with release times.
pub(super) struct TimesProblem {
    pub(super) message: &'static str,
    pub(super) help: &'static str,
}

impl ReleaseTimes {
    /// Returns the release time of application number `nth` of a pattern.
    pub(super) fn of(&self, nth: u32) -> SimDuration {
        match self {
            Self::List(releases) => releases
                .first()
                .map_or(SimDuration::ZERO, |release| release.at),
            Self::Every(ReleasesEvery { every, from }) => *from + *every * u64::from(nth),
        }
    }

    /// Returns the problem with the times of this number of applications, if there is one.
    pub(super) fn problem(&self, applications: usize) -> Option<TimesProblem> {
        match self {
            Self::List(releases) if releases.is_empty() => Some(TimesProblem {
                message: "there is no release",
                help: "write `[{at: 0 s}]`, or remove `releases`",
            }),
            Self::List(releases) if has_equal_times(releases) => Some(TimesProblem {
                message: "two releases have the same time",
                help: "keep one of the two",
            }),
            Self::List(releases) if releases.len() > 1 => Some(TimesProblem {
                message: "only one release of an application is simulated",
                help: "keep the first, e.g. `[{at: 0 s}]`",
            }),
            Self::Every(_) if applications == 1 => Some(TimesProblem {
                message: "`every` has no effect on one application",
                help: "write its time as `[{at: 1h}]`, or a pattern such as `svc-{01..40}`",
            }),
            Self::List(_) | Self::Every(_) => None,
        }
    }
}

fn has_equal_times(releases: &[ReleaseAt]) -> bool {
    for (at, release) in releases.iter().enumerate() {
        for earlier in &releases[..at] {
            if earlier.at == release.at {
                return true;
            }
        }
    }
    false
}

impl<'de> Deserialize<'de> for ReleaseTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TimesVisitor;

        impl<'de> Visitor<'de> for TimesVisitor {
            type Value = ReleaseTimes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`[{at: 1h}]`, or `{every: 5 min}`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<ReleaseTimes, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(ReleaseTimes::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ReleaseTimes, A::Error> {
                ReleasesEvery::deserialize(MapAccessDeserializer::new(map)).map(ReleaseTimes::Every)
            }
        }

        deserializer.deserialize_any(TimesVisitor)
    }
}

#[cfg(test)]
impl JsonSchema for ReleaseTimes {
    fn schema_name() -> Cow<'static, str> {
        "Releases".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "array", "items": generator.subschema_for::<ReleaseAt>() },
                generator.subschema_for::<ReleasesEvery>(),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applications_of_a_pattern_are_released_one_after_the_other() {
        let times = ReleaseTimes::Every(ReleasesEvery {
            every: SimDuration::from_mins(5),
            from: SimDuration::from_hours(1),
        });
        assert_eq!(times.of(0), SimDuration::from_hours(1));
        assert_eq!(times.of(3), SimDuration::from_mins(75));
        let list = ReleaseTimes::List(vec![ReleaseAt {
            at: SimDuration::from_mins(7),
        }]);
        assert_eq!((list.of(0), list.of(3)), (list.of(3), list.of(0)));
    }
}
